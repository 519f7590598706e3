import { Trans, useLingui } from '@lingui/react/macro';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../../shared/api/request.ts';
import { useNow } from '../../shared/format/use-now.ts';
import { useFormat } from '../../shared/format/use-format.ts';
import { csvText, saveFile } from '../../shared/report/csv.ts';
import type { ReportMeta } from '../../shared/report/meta.tsx';
import { ReportMetaLine } from '../../shared/report/meta.tsx';
import { useMay } from '../../shared/session/session.ts';
import { Button, buttonClass } from '../../shared/ui/button.tsx';
import { Card } from '../../shared/ui/card.tsx';
import { TextField } from '../../shared/ui/field.tsx';
import { Page } from '../../shared/ui/page.tsx';
import { Banner, Empty, Loading, ProblemState } from '../../shared/ui/states.tsx';
import { VirtualTable } from '../../shared/ui/virtual-table.tsx';
import { audienceOf } from './audience-of.ts';
import styles from './people.module.css';

interface PersonRow {
  person: string;
  name: string;
  first: number;
  last: number;
  orders: number;
  revenue: number;
}

const route = getRouteApi('/member/people');
const MAX_PEOPLE = 10_000;

/** The people behind a number of a report; without one, the way to a person by their id. */
export function PeoplePage() {
  const { t } = useLingui();
  const { count } = useFormat();
  const may = useMay();
  const { of } = route.useSearch();
  const askedAt = useNow();
  const { data, error, refetch, isLoading } = useQuery({
    queryKey: ['people', of],
    enabled: of !== undefined,
    queryFn: ({ signal }) =>
      api<{ people: PersonRow[]; meta: ReportMeta }>('/v1/reports/people', {
        ...{ method: 'POST' as const, body: of, signal },
      }),
  });
  const audience = of ? audienceOf(of) : undefined;
  return (
    <Page
      title={t`اشخاص`}
      lead={of ? t`کسانی که این عدد از آنان ساخته شده است.` : undefined}
      actions={
        <>
          {audience && may('segment.write') ? (
            <Link
              to="/segments/new"
              search={{ definition: audience } as never}
              className={buttonClass('primary')}
            >
              <Trans>ساختن سگمنت از آنان</Trans>
            </Link>
          ) : null}
          {data && may('data.export') ? (
            <Button onClick={() => save(data.people)}>
              <Trans>جدول CSV</Trans>
            </Button>
          ) : null}
        </>
      }
    >
      <FindPerson />
      {of ? (
        <Card
          title={
            data ? (
              data.people.length >= MAX_PEOPLE ? (
                <Trans>{count(MAX_PEOPLE)} نفر نخست</Trans>
              ) : (
                <Trans>{count(data.people.length)} نفر</Trans>
              )
            ) : (
              <Trans>اشخاص</Trans>
            )
          }
        >
          {error ? (
            <ProblemState error={error} retry={() => void refetch()} />
          ) : isLoading || !data ? (
            <Loading lines={12} />
          ) : data.people.length === 0 ? (
            <Empty title={<Trans>هیچ‌کس</Trans>}>
              <Trans>پروفایل این اشخاص شاید هنوز ساخته نشده باشد؛ اندکی بعد دوباره ببینید.</Trans>
            </Empty>
          ) : (
            <>
              {data.people.length >= MAX_PEOPLE ? (
                <Banner>
                  <Trans>
                    تنها {count(MAX_PEOPLE)} نفر که تازه‌تر دیده شده‌اند نشان داده می‌شوند.
                  </Trans>
                </Banner>
              ) : null}
              <PeopleTable people={data.people} />
              <ReportMetaLine meta={data.meta} askedAt={askedAt} />
            </>
          )}
        </Card>
      ) : null}
    </Page>
  );
}

function FindPerson() {
  const navigate = useNavigate();
  const [id, setId] = useState('');
  return (
    <form
      className={styles['find']}
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        if (id.trim() !== '') void navigate({ to: '/people/$id', params: { id: id.trim() } });
      }}
    >
      <TextField
        label={<Trans>یافتن شخص با شناسه</Trans>}
        dir="ltr"
        placeholder="user_id"
        value={id}
        onChange={(event) => setId(event.target.value)}
      />
      <Button type="submit">
        <Trans>باز کردن</Trans>
      </Button>
    </form>
  );
}

function PeopleTable({ people }: { people: readonly PersonRow[] }) {
  const { t } = useLingui();
  const { dateTime, count, decimal } = useFormat();
  return (
    <VirtualTable
      label={t`اشخاص`}
      rows={people}
      rowKey={({ person }) => person}
      columns={[
        {
          key: 'person',
          header: <Trans>شناسه</Trans>,
          width: '2fr',
          cell: ({ person }) => (
            <Link to="/people/$id" params={{ id: person }}>
              <bdi>{person}</bdi>
            </Link>
          ),
        },
        {
          key: 'name',
          header: <Trans>نام</Trans>,
          width: '1.5fr',
          cell: ({ name }) => <bdi>{name}</bdi>,
        },
        {
          key: 'last',
          header: <Trans>آخرین رویداد</Trans>,
          width: '1.5fr',
          cell: ({ last }) => dateTime(last),
        },
        {
          key: 'orders',
          header: <Trans>سفارش‌ها</Trans>,
          width: '90px',
          isNumber: true,
          cell: ({ orders }) => count(orders),
        },
        {
          key: 'revenue',
          header: <Trans>درآمد</Trans>,
          width: '1fr',
          isNumber: true,
          cell: ({ revenue }) => decimal(revenue),
        },
      ]}
    />
  );
}

function save(people: readonly PersonRow[]): void {
  const text = csvText({
    header: ['person', 'name', 'first_seen', 'last_seen', 'orders', 'revenue'],
    rows: people.map(({ person, name, first, last, orders, revenue }) => [
      ...[person, name, new Date(first).toISOString(), new Date(last).toISOString()],
      ...[orders, revenue],
    ]),
  });
  saveFile('people.csv', new Blob([text], { type: 'text/csv' }));
}
