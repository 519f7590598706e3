import { Trans, useLingui } from '@lingui/react/macro';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useFormat } from '../../shared/format/use-format.ts';
import { useMay } from '../../shared/session/session.ts';
import { buttonClass } from '../../shared/ui/button.tsx';
import { Card } from '../../shared/ui/card.tsx';
import { CodeBlock } from '../../shared/ui/code-block.tsx';
import { Icon } from '../../shared/ui/icon.tsx';
import type { Start } from './queries.ts';
import styles from './overview-page.module.css';

/** The way from a write key to the first funnel; gone once all is done. */
export function StartCard({ start }: { start: Start }) {
  const { t } = useLingui();
  const may = useMay();
  const { has_write_key, has_events, has_report } = start;
  if (has_write_key && has_events && has_report) return null;
  const url = start.ingest_url === '' ? location.origin : start.ingest_url;
  return (
    <Card
      title={<Trans>گام‌های آغاز</Trans>}
      note={<Trans>از کلید نوشتن تا نخستین قیف، در چند دقیقه</Trans>}
    >
      <ol className={styles['steps']}>
        <Step at={1} isDone={has_write_key} title={<Trans>یک کلید نوشتن بسازید</Trans>}>
          <span className={styles['quiet']}>
            <Trans>سایت یا اپلیکیشن شما با این کلید رویداد می‌فرستد.</Trans>
          </span>
          {may('apikey.write') && !has_write_key ? (
            <Link to="/settings/keys" className={buttonClass('primary')}>
              <Trans>ساختن کلید</Trans>
            </Link>
          ) : null}
        </Step>
        <Step at={2} isDone={has_events} title={<Trans>نخستین رویداد را بفرستید</Trans>}>
          <span className={styles['quiet']}>
            <Trans>کلید را به جای WRITE_KEY بگذارید و این فرمان را اجرا کنید:</Trans>
          </span>
          {has_events ? null : (
            <div className={styles['command']}>
              <CodeBlock label={t`فرمان نمونه`} text={snippet(url)} />
            </div>
          )}
        </Step>
        <Step at={3} isDone={has_report} title={<Trans>نخستین قیف را بسازید و ذخیره کنید</Trans>}>
          <Link
            to="/reports/funnel"
            search={{} as never}
            className={buttonClass(has_events ? 'primary' : 'secondary')}
          >
            <Trans>ساختن قیف</Trans>
          </Link>
        </Step>
      </ol>
    </Card>
  );
}

function Step({
  at,
  isDone,
  title,
  children,
}: {
  at: number;
  isDone: boolean;
  title: ReactNode;
  children: ReactNode;
}) {
  const { t } = useLingui();
  const { count } = useFormat();
  return (
    <li className={styles['step']}>
      <span
        className={`${styles['mark']} ${isDone ? styles['done'] : ''}`}
        {...(isDone ? { role: 'img', 'aria-label': t`انجام شد` } : {})}
      >
        {isDone ? <Icon name="check" /> : count(at)}
      </span>
      <div className={styles['content']}>
        <h3>{title}</h3>
        {isDone ? null : children}
      </div>
    </li>
  );
}

function snippet(url: string): string {
  return [
    `curl ${url}/v1/track \\`,
    `  -H 'Authorization: Bearer WRITE_KEY' \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d '{"event": "page_viewed", "anonymous_id": "visitor-1"}'`,
  ].join('\n');
}
