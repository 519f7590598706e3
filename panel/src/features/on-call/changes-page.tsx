import { Trans, useLingui } from '@lingui/react/macro';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { api } from '../../shared/api/request.ts';
import { useFormat } from '../../shared/format/use-format.ts';
import { useSession } from '../../shared/session/session.ts';
import { Card } from '../../shared/ui/card.tsx';
import { ChoiceGroup } from '../../shared/ui/choice-group.tsx';
import { Page } from '../../shared/ui/page.tsx';
import { Banner, Empty, Loading, ProblemState } from '../../shared/ui/states.tsx';
import { Table } from '../../shared/ui/table.tsx';
import { CHANGES_DAYS } from './changes-search.ts';

const route = getRouteApi('/member/on-call/changes');

interface Change {
  at: string;
  account_id: number | null;
  actor: string;
  action: string;
  details: Readonly<Record<string, unknown>>;
}

interface Changes {
  /** There are more than are shown. */
  more: boolean;
  changes: Change[];
}

/** What people, operators and services decided: the first question of a disturbance. */
export function ChangesPage() {
  const { t } = useLingui();
  const { count } = useFormat();
  const { days } = route.useSearch();
  const navigate = route.useNavigate();
  const { is_operator } = useSession();
  const { data, error, refetch } = useQuery({
    queryKey: ['changes', days],
    queryFn: ({ signal }) => api<Changes>(`/v1/changes?days=${days}`, { signal }),
  });
  return (
    <Page
      title={t`چه تغییر کرده است`}
      lead={
        is_operator
          ? t`تصمیم‌های همهٔ حساب‌ها، مهندسان و سامانه، از تازه‌ترین.`
          : t`تصمیم‌های این حساب، از تازه‌ترین.`
      }
    >
      <ChoiceGroup
        label={<Trans>بازه</Trans>}
        value={String(days)}
        choices={CHANGES_DAYS.map((one) => ({
          value: String(one),
          label: one === 1 ? t`۲۴ ساعت گذشته` : t`${count(one)} روز گذشته`,
        }))}
        onChange={(chosen) =>
          void navigate({
            search: { days: CHANGES_DAYS.find((one) => String(one) === chosen) ?? 1 },
          })
        }
      />
      <Card title={<Trans>تغییرها</Trans>}>
        {data ? (
          <>
            {error ? (
              <Banner tone="warning">
                <Trans>ارتباط با سرور قطع است؛ این فهرست شاید تازه نباشد.</Trans>
              </Banner>
            ) : null}
            {data.changes.length === 0 ? (
              <Empty title={<Trans>در این بازه چیزی تغییر نکرده است</Trans>}>
                <Trans>بازهٔ بزرگ‌تری انتخاب کنید.</Trans>
              </Empty>
            ) : (
              <ChangeTable changes={data.changes} hasAccounts={is_operator} />
            )}
            {data.more ? (
              <p>
                <Trans>تنها {count(data.changes.length)} تغییر آخر نشان داده می‌شود.</Trans>
              </p>
            ) : null}
          </>
        ) : error ? (
          <ProblemState error={error} retry={() => void refetch()} />
        ) : (
          <Loading lines={10} />
        )}
      </Card>
    </Page>
  );
}

function ChangeTable({
  changes,
  hasAccounts,
}: {
  changes: readonly Change[];
  hasAccounts: boolean;
}) {
  const { t } = useLingui();
  const { dateTime } = useFormat();
  const rows = changes.map((change, at) => ({ ...change, key: `${change.at} ${at}` }));
  return (
    <Table
      label={t`تغییرها`}
      rows={rows}
      rowKey={({ key }) => key}
      columns={[
        { key: 'at', header: <Trans>زمان</Trans>, cell: ({ at }) => dateTime(Date.parse(at)) },
        {
          key: 'what',
          header: <Trans>چه</Trans>,
          isRowHeader: true,
          cell: ({ action }) => <code>{action}</code>,
        },
        { key: 'who', header: <Trans>که</Trans>, cell: ({ actor }) => <bdi>{actor}</bdi> },
        ...(hasAccounts
          ? [
              {
                key: 'account',
                header: <Trans>حساب</Trans>,
                cell: ({ account_id }: Change) => <bdi>{account_id ?? '–'}</bdi>,
              },
            ]
          : []),
        {
          key: 'details',
          header: <Trans>جزئیات</Trans>,
          cell: ({ details }) => <bdi dir="ltr">{textOf(details)}</bdi>,
        },
      ]}
    />
  );
}

const MAX_VALUE = 80;

function textOf(details: Change['details']): string {
  return Object.entries(details)
    .filter(([, value]) => value !== null && value !== '')
    .map(([name, value]) => {
      const text = typeof value === 'string' ? value : JSON.stringify(value);
      return `${name}=${text.length > MAX_VALUE ? `${text.slice(0, MAX_VALUE)}…` : text}`;
    })
    .join(', ');
}
