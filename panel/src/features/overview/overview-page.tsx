import { useLingui } from '@lingui/react/macro';
import { Page } from '../../shared/ui/page.tsx';
import { Loading } from '../../shared/ui/states.tsx';

export function OverviewPage() {
  const { t } = useLingui();
  return (
    <Page title={t`نمای کلی`}>
      <Loading />
    </Page>
  );
}
