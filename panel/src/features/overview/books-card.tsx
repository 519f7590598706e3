import { Trans } from '@lingui/react/macro';
import type { ReactNode } from 'react';
import { useFormat } from '../../shared/format/use-format.ts';
import { Card } from '../../shared/ui/card.tsx';
import { Tag } from '../../shared/ui/tag.tsx';
import { judgeBooks, type Verdict } from './judge-books.ts';
import type { Books } from './queries.ts';
import styles from './overview-page.module.css';

/** Where every event that was received is now. */
export function BooksCard({ books }: { books: Books }) {
  const verdict = judgeBooks(books);
  return (
    <Card title={<Trans>تراز رویدادها</Trans>} actions={<VerdictTag verdict={verdict} />}>
      <dl className={styles['list']}>
        <Line label={<Trans>دریافت‌شده</Trans>} value={books.received} />
        <Line isPart label={<Trans>رد شده</Trans>} value={books.rejected} />
        <Line isPart label={<Trans>تکراری</Trans>} value={books.duplicate} />
        <Line isSum label={<Trans>پذیرفته</Trans>} value={books.published} />
        <Line isPart label={<Trans>ذخیره‌شده</Trans>} value={books.stored} />
        <Line isPart label={<Trans>در راه</Trans>} value={books.in_flight} />
        <Line isPart label={<Trans>ناخوانا (dead letter)</Trans>} value={books.dead} />
        <Line isPart label={<Trans>از دست رفته</Trans>} value={books.lost} />
      </dl>
      <p className={styles['quiet']}>
        <Explanation verdict={verdict} />
      </p>
    </Card>
  );
}

function Line({
  label,
  value,
  isPart = false,
  isSum = false,
}: {
  label: ReactNode;
  value: number;
  isPart?: boolean;
  isSum?: boolean;
}) {
  const { count } = useFormat();
  return (
    <div className={isPart ? styles['part'] : isSum ? styles['sum'] : undefined}>
      <dt>{label}</dt>
      <dd>{count(value)}</dd>
    </div>
  );
}

function VerdictTag({ verdict }: { verdict: Verdict }) {
  switch (verdict) {
    case 'empty':
      return (
        <Tag>
          <Trans>بدون رویداد</Trans>
        </Tag>
      );
    case 'balanced':
      return (
        <Tag tone="success">
          <Trans>تراز است</Trans>
        </Tag>
      );
    case 'unstored':
      return (
        <Tag tone="warning">
          <Trans>نیازمند بررسی</Trans>
        </Tag>
      );
    case 'unbalanced':
      return (
        <Tag tone="danger">
          <Trans>تراز نیست</Trans>
        </Tag>
      );
  }
}

function Explanation({ verdict }: { verdict: Verdict }) {
  switch (verdict) {
    case 'empty':
      return <Trans>با نخستین رویداد، اینجا می‌بینید که هر رویداد کجاست.</Trans>;
    case 'balanced':
      return <Trans>هر رویداد پذیرفته‌شده ذخیره شده است، یا در راه است.</Trans>;
    case 'unstored':
      return <Trans>برخی رویدادها ذخیره نشده‌اند؛ علت آن در «آماده‌باش» است.</Trans>;
    case 'unbalanced':
      return <Trans>شمار رویدادهای ذخیره‌شده بیش از پذیرفته‌شده است؛ به پشتیبانی خبر دهید.</Trans>;
  }
}
