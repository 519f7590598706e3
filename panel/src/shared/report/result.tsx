import { Trans } from '@lingui/react/macro';
import type { ReactNode } from 'react';
import { Button } from '../ui/button.tsx';
import { Empty, Loading, ProblemState } from '../ui/states.tsx';
import { ReportMetaLine, type ReportMeta } from './meta.tsx';
import type { useReport } from './use-report.ts';
import styles from './result.module.css';

interface Props<Answer extends { meta: ReportMeta }> {
  report: ReturnType<typeof useReport<Answer>>;
  /** The request lacks something: says what. */
  missing: ReactNode | undefined;
  children: (answer: Answer) => ReactNode;
}

/** The result of a report in all its states; while it runs it can be cancelled. */
export function ReportResult<Answer extends { meta: ReportMeta }>({
  report,
  missing,
  children,
}: Props<Answer>) {
  const { data, error, isFetching, isPlaceholderData, cancel, refetch } = report;
  if (missing) return <Empty title={missing} />;
  if (isFetching)
    return (
      <div className={styles['running']}>
        <div className={styles['bar']} role="status">
          <Trans>گزارش در حال اجرا است…</Trans>
          <Button onClick={cancel}>
            <Trans>لغو</Trans>
          </Button>
        </div>
        <div className={data ? styles['former'] : undefined}>
          {data ? children(data.answer) : <Loading lines={6} />}
        </div>
      </div>
    );
  if (error) return <ProblemState error={error} retry={() => void refetch()} />;
  // What is there is of an earlier request: this one was cancelled.
  if (!data || isPlaceholderData)
    return (
      <Empty
        title={<Trans>گزارش لغو شد</Trans>}
        action={
          <Button onClick={() => void refetch()}>
            <Trans>اجرای دوباره</Trans>
          </Button>
        }
      />
    );
  return (
    <>
      {children(data.answer)}
      <ReportMetaLine meta={data.answer.meta} askedAt={data.askedAt} />
    </>
  );
}
