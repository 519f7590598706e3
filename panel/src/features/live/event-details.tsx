import { Trans } from '@lingui/react/macro';
import { useFormat } from '../../shared/format/use-format.ts';
import type { LiveEvent } from './live-events.ts';
import { PersonLink } from './person-link.tsx';
import styles from './live-page.module.css';

export function EventDetails({ event }: { event: LiveEvent }) {
  const { dateTime } = useFormat();
  return (
    <dl className={styles['details']}>
      <dt>
        <Trans>زمان رویداد</Trans>
      </dt>
      <dd>{dateTime(Date.parse(event.timestamp))}</dd>
      <dt>
        <Trans>دریافت</Trans>
      </dt>
      <dd>{dateTime(Date.parse(event.received_at))}</dd>
      <dt>
        <Trans>شخص</Trans>
      </dt>
      <dd>
        <PersonLink event={event} />
      </dd>
      <dt>message_id</dt>
      <dd>
        <code>{event.message_id}</code>
      </dd>
      {Object.entries(event.properties).map(([name, value]) => (
        <Property key={name} name={name} value={value} />
      ))}
    </dl>
  );
}

function Property({ name, value }: { name: string; value: string }) {
  return (
    <>
      <dt>
        <bdi>{name}</bdi>
      </dt>
      <dd>
        <bdi>{value}</bdi>
      </dd>
    </>
  );
}
