import { Trans, useLingui } from '@lingui/react/macro';
import { Page } from '../../shared/ui/page.tsx';
import { ConnectionsCard } from './connections-card.tsx';
import { RelaysCard } from './relays-card.tsx';

/** What comes from other platforms, and what is passed on to them. */
export function IntegrationsPage() {
  const { t } = useLingui();
  return (
    <Page
      title={t`اتصال‌ها`}
      lead={
        <Trans>
          وب‌هوک‌ها رویدادهای سکوهای دیگر را می‌آورند؛ رله‌ها رویدادهای شما را به نشانی دیگری
          می‌رسانند.
        </Trans>
      }
    >
      <ConnectionsCard />
      <RelaysCard />
    </Page>
  );
}
