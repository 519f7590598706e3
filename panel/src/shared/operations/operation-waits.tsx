import { Trans } from '@lingui/react/macro';
import type { OperationWait } from '../../../../platform/operations/operation-wait.ts';
import { useFormat } from '../format/use-format.ts';
import { isOpen, type Operation } from './operation.ts';
import styles from './operations.module.css';

/** Why an operation that has not ended waits, and what to do about it; nothing when it goes on. */
export function OperationWaits({ operation }: { operation: Pick<Operation, 'state' | 'waits'> }) {
  if (!isOpen(operation) || operation.waits.length === 0) return null;
  return (
    <ul className={styles['waits']}>
      {operation.waits.map((wait) => (
        <li key={JSON.stringify(wait)}>
          <WaitText wait={wait} />
        </li>
      ))}
    </ul>
  );
}

function WaitText({ wait }: { wait: OperationWait }) {
  const { count, dateTime } = useFormat();
  switch (wait.key) {
    case 'spool_of_ended':
      return (
        <Trans>
          منتظر است تا <Process of={wait} /> {count(wait.events)} رویداد را از دیسک خود منتشر کند.
          آخرین بار {dateTime(Date.parse(wait.seen_at))} دیده شده است: آن را دوباره راه‌اندازی کنید.
          اگر دیگر برنمی‌گردد، <bdi>docs/on-call.md</bdi> می‌گوید چه کنید.
        </Trans>
      );
    case 'spool':
      return (
        <>
          <Trans>
            منتظر است تا <Process of={wait} /> {count(wait.events)} رویداد را از دیسک خود منتشر کند.
          </Trans>{' '}
          <bdi>{wait.reason}</bdi>
        </>
      );
    case 'spool_unknown':
      return (
        <Trans>
          منتظر است تا <Process of={wait} /> بگوید چه رویدادهایی روی دیسک خود دارد.
        </Trans>
      );
    case 'group':
      return (
        <Trans>
          منتظر است تا <bdi>{wait.group}</bdi> {count(wait.records)} رکورد از{' '}
          <bdi>{wait.topic}</bdi> را پردازش کند.
        </Trans>
      );
    case 'freezing':
      return <Trans>منتظر است تا مخاطبان {count(wait.runs.length)} اجرای کمپین تعیین شوند.</Trans>;
    case 'messages':
      return <Trans>منتظر است تا ارسال {count(wait.messages)} پیام به پایان برسد.</Trans>;
  }
}

function Process({ of: { service, instance } }: { of: { service: string; instance: string } }) {
  return (
    <bdi>
      {service} {instance}
    </bdi>
  );
}
