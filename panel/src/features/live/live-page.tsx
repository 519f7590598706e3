import { Trans, useLingui } from '@lingui/react/macro';
import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import { useFormat } from '../../shared/format/use-format.ts';
import { EventField } from '../../shared/report/event-field.tsx';
import { Button } from '../../shared/ui/button.tsx';
import { Card } from '../../shared/ui/card.tsx';
import { Dialog } from '../../shared/ui/dialog.tsx';
import { TextField } from '../../shared/ui/field.tsx';
import { Page } from '../../shared/ui/page.tsx';
import { Empty, Loading, ProblemState } from '../../shared/ui/states.tsx';
import { Tag } from '../../shared/ui/tag.tsx';
import { VirtualTable } from '../../shared/ui/virtual-table.tsx';
import { EventDetails } from './event-details.tsx';
import { PersonLink } from './person-link.tsx';
import { keyOf, type LiveEvent } from './live-events.ts';
import type { LiveSearch } from './search.ts';
import { useLiveEvents } from './use-live-events.ts';
import styles from './live-page.module.css';

const route = getRouteApi('/member/live');

/** Events as they are stored, newest first. */
export function LivePage() {
  const { t } = useLingui();
  const { count } = useFormat();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const [isPaused, setPaused] = useState(false);
  const [chosen, setChosen] = useState<LiveEvent>();
  const { events, error, isLoading, refetch } = useLiveEvents(search, isPaused);
  const change = (part: LiveSearch) =>
    void navigate({
      search: Object.fromEntries(
        Object.entries({ ...search, ...part }).filter(([, value]) => value !== ''),
      ) as never,
      replace: true,
    });
  return (
    <Page
      title={t`رویدادهای زنده`}
      lead={t`هر رویداد حداکثر دو ثانیه پس از آنکه ذخیره شود اینجا دیده می‌شود؛ می‌توانید رویدادها را با نام، شخص یا شناسه جدا کنید.`}
      actions={
        <Button kind={isPaused ? 'primary' : 'secondary'} onClick={() => setPaused(!isPaused)}>
          {isPaused ? <Trans>ادامه</Trans> : <Trans>مکث</Trans>}
        </Button>
      }
    >
      <Card
        title={<Trans>رویدادها</Trans>}
        actions={
          isPaused ? (
            <Tag tone="warning">
              <Trans>در مکث</Trans>
            </Tag>
          ) : error ? (
            <Tag tone="danger">
              <Trans>قطع</Trans>
            </Tag>
          ) : (
            <Tag tone="success">
              <Trans>زنده · {count(events.length)}</Trans>
            </Tag>
          )
        }
      >
        <div className={styles['filters']}>
          <EventField
            label={<Trans>نام رویداد</Trans>}
            value={search.event ?? ''}
            onChange={(event) => change({ event })}
          />
          <FilterField
            label={t`شناسهٔ شخص`}
            value={search.person ?? ''}
            onChange={(person) => change({ person })}
          />
          <FilterField
            label={t`شناسهٔ رویداد (message_id)`}
            value={search.message ?? ''}
            onChange={(message) => change({ message })}
          />
        </div>
        {error && events.length === 0 ? (
          <ProblemState error={error} retry={() => void refetch()} />
        ) : isLoading ? (
          <Loading lines={10} />
        ) : events.length === 0 ? (
          <Empty title={<Trans>در یک ساعت گذشته رویدادی نبوده است</Trans>}>
            <p>
              <Trans>
                این صفحه را باز نگه دارید و رویدادی بفرستید؛ چند لحظه بعد اینجا دیده می‌شود.
              </Trans>
            </p>
            <p>
              <Trans>اگر شرطی گذاشته‌اید، آن را بردارید.</Trans>
            </p>
          </Empty>
        ) : (
          <EventTable events={events} onChoose={setChosen} />
        )}
      </Card>
      {chosen ? (
        <Dialog title={<bdi>{chosen.event}</bdi>} onClose={() => setChosen(undefined)}>
          <EventDetails event={chosen} />
        </Dialog>
      ) : null}
    </Page>
  );
}

function EventTable({
  events,
  onChoose,
}: {
  events: readonly LiveEvent[];
  onChoose: (event: LiveEvent) => void;
}) {
  const { t } = useLingui();
  const { time } = useFormat();
  return (
    <VirtualTable
      label={t`رویدادهای زنده`}
      rows={events}
      rowKey={keyOf}
      columns={[
        {
          key: 'time',
          header: <Trans>دریافت</Trans>,
          width: '90px',
          cell: ({ received_at }) => time(Date.parse(received_at), 'seconds'),
        },
        {
          key: 'event',
          header: <Trans>رویداد</Trans>,
          width: '2fr',
          cell: (event) => (
            <button type="button" className={styles['event']} onClick={() => onChoose(event)}>
              <bdi>{event.event === '' ? event.type : event.event}</bdi>
            </button>
          ),
        },
        {
          key: 'person',
          header: <Trans>شخص</Trans>,
          width: '2fr',
          cell: (event) => <PersonLink event={event} />,
        },
        {
          key: 'source',
          header: <Trans>منبع</Trans>,
          width: '1fr',
          cell: ({ source, library }) => <bdi>{library === '' ? source : library}</bdi>,
        },
      ]}
    />
  );
}

function FilterField({
  label,
  value,
  onChange,
}: {
  label: string;
  value: string;
  onChange: (value: string) => void;
}) {
  return (
    <TextField
      key={value}
      label={label}
      dir="ltr"
      autoComplete="off"
      defaultValue={value}
      onBlur={(event) => {
        if (event.target.value.trim() !== value) onChange(event.target.value.trim());
      }}
      onKeyDown={(event) => {
        if (event.key === 'Enter') onChange(event.currentTarget.value.trim());
      }}
    />
  );
}
