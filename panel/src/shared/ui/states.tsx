import { Trans, useLingui } from '@lingui/react/macro';
import type { ReactNode } from 'react';
import type { Permission } from '../../../../platform/permissions.ts';
import { Problem } from '../api/problem.ts';
import { useFormat } from '../format/use-format.ts';
import { Button } from './button.tsx';
import { Icon, type IconName } from './icon.tsx';
import styles from './states.module.css';

interface StateProps {
  icon: IconName;
  title: ReactNode;
  children?: ReactNode;
  action?: ReactNode;
  /** It is the whole page, whose heading it has. */
  isPage?: boolean | undefined;
}

function State({ icon, title, children, action, isPage = false }: StateProps) {
  const Heading = isPage ? 'h1' : 'h2';
  return (
    <div className={styles['state']}>
      <span className={styles['mark']}>
        <Icon name={icon} />
      </span>
      <Heading>{title}</Heading>
      {children ? <div className={styles['text']}>{children}</div> : null}
      {action}
    </div>
  );
}

/** Nothing is there yet: says what to do next. */
export function Empty({ title, children, action }: Omit<StateProps, 'icon' | 'isPage'>) {
  return (
    <State icon="empty" title={title} action={action}>
      {children}
    </State>
  );
}

/** What is coming has about so many lines; it takes their place, so that nothing moves later. */
export function Loading({ lines = 4, label }: { lines?: number; label?: string }) {
  const { t } = useLingui();
  return (
    <div className={styles['skeleton']} role="status">
      <span className="visually-hidden">{label ?? t`در حال خواندن…`}</span>
      {Array.from({ length: lines }, (_, at) => (
        <div key={at} className={styles['line']} />
      ))}
    </div>
  );
}

/** The member's role lacks a permission. */
export function Forbidden({
  need,
  isPage,
}: Pick<StateProps, 'isPage'> & { need: Permission | (string & {}) | undefined }) {
  return (
    <State icon="lock" isPage={isPage} title={<Trans>این صفحه برای نقش شما نیست</Trans>}>
      <p>
        {need === undefined ? (
          <Trans>مدیر حساب می‌تواند نقش شما را تغییر دهد.</Trans>
        ) : need === 'operator' ? (
          <Trans>
            به همهٔ حساب‌های این سامانه مربوط است و تنها مهندسان سامانه آن را می‌بینند؛ هیچ نقشی در
            حساب چنین مجوزی ندارد.
          </Trans>
        ) : (
          <Trans>
            برای دیدن آن مجوز <code>{need}</code> لازم است. مدیر حساب می‌تواند نقش شما را تغییر دهد.
          </Trans>
        )}
      </p>
    </State>
  );
}

/** A request that failed: says what happened and what to do. */
export function ProblemState({
  error,
  retry,
  isPage,
}: Pick<StateProps, 'isPage'> & { error: unknown; retry?: () => void }) {
  const problem = error instanceof Problem ? error.facts : undefined;
  if (problem?.kind === 'forbidden' && problem.code === 'forbidden')
    return <Forbidden need={problem.need} isPage={isPage} />;
  const again = retry ? (
    <Button onClick={retry}>
      <Trans>تلاش دوباره</Trans>
    </Button>
  ) : undefined;
  return (
    <div role="alert">
      <State icon="warning" title={<ProblemTitle error={error} />} action={again} isPage={isPage}>
        <p>
          <ProblemText error={error} />
        </p>
        {problem?.trace ? (
          <p className={styles['trace']}>
            <Trans>
              شناسهٔ پیگیری: <code>{problem.trace}</code>
            </Trans>
          </p>
        ) : null}
      </State>
    </div>
  );
}

function ProblemTitle({ error }: { error: unknown }) {
  const kind = error instanceof Problem ? error.facts.kind : 'failed';
  switch (kind) {
    case 'offline':
      return <Trans>ارتباط با سرور برقرار نشد</Trans>;
    case 'not_found':
      return <Trans>پیدا نشد</Trans>;
    case 'forbidden':
      return <Trans>اجازهٔ این کار را ندارید</Trans>;
    case 'invalid':
      return <Trans>درخواست پذیرفته نشد</Trans>;
    case 'too_many':
      return <Trans>درخواست‌های بسیاری در جریان است</Trans>;
    case 'unavailable':
      return <Trans>این بخش اکنون در دسترس نیست</Trans>;
    case 'signed_out':
      return <Trans>نشست شما به پایان رسیده است</Trans>;
    case 'failed':
      return <Trans>خطایی پیش‌بینی‌نشده رخ داد</Trans>;
  }
}

/** One sentence for a problem; where the server has a sentence, its own. */
export function ProblemText({ error }: { error: unknown }) {
  const { count } = useFormat();
  if (!(error instanceof Problem))
    return <Trans>صفحه را دوباره بارگذاری کنید؛ اگر ادامه یافت، به پشتیبانی خبر دهید.</Trans>;
  const { kind, message, retryAfter } = error.facts;
  switch (kind) {
    case 'offline':
      return <Trans>اتصال اینترنت را بررسی کنید و دوباره تلاش کنید.</Trans>;
    case 'not_found':
      return <Trans>شاید پاک شده باشد، یا از آنِ حساب دیگری باشد.</Trans>;
    case 'signed_out':
      return <Trans>دوباره وارد شوید.</Trans>;
    case 'too_many':
    case 'unavailable':
      return retryAfter === undefined ? (
        <Trans>اندکی بعد دوباره تلاش کنید.</Trans>
      ) : (
        <Trans>{count(retryAfter)} ثانیهٔ دیگر دوباره تلاش کنید.</Trans>
      );
    case 'failed':
      return <Trans>دوباره تلاش کنید؛ اگر ادامه یافت، به پشتیبانی خبر دهید.</Trans>;
    default:
      return <span dir="auto">{message}</span>;
  }
}

/** A fact about the whole page or part, in one line. */
export function Banner({
  tone = 'plain',
  children,
  action,
}: {
  tone?: 'plain' | 'warning' | 'danger' | 'success';
  children: ReactNode;
  action?: ReactNode;
}) {
  return (
    <div className={`${styles['banner']} ${tone === 'plain' ? '' : styles[tone]}`}>
      <span>{children}</span>
      {action}
    </div>
  );
}
