import { Trans, useLingui } from '@lingui/react/macro';
import { Link } from '@tanstack/react-router';
import { buttonClass } from '../shared/ui/button.tsx';
import { Page } from '../shared/ui/page.tsx';
import { Empty } from '../shared/ui/states.tsx';
import styles from './not-found-page.module.css';

export function NotFoundPage() {
  const { t } = useLingui();
  return (
    <main className={styles['main']}>
      <Page title={t`این صفحه وجود ندارد`}>
        <Empty
          title={<Trans>نشانی را بررسی کنید</Trans>}
          action={
            <Link to="/" className={buttonClass('primary')}>
              <Trans>رفتن به نمای کلی</Trans>
            </Link>
          }
        >
          <Trans>شاید پیوند ناقص باشد، یا صفحه جابه‌جا شده باشد.</Trans>
        </Empty>
      </Page>
    </main>
  );
}
