import { Trans, useLingui } from '@lingui/react/macro';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useFormat } from '../../shared/format/use-format.ts';
import { useMay } from '../../shared/session/session.ts';
import { Button } from '../../shared/ui/button.tsx';
import { Card } from '../../shared/ui/card.tsx';
import { Icon } from '../../shared/ui/icon.tsx';
import { Page } from '../../shared/ui/page.tsx';
import { Empty, Loading, ProblemState } from '../../shared/ui/states.tsx';
import { Table } from '../../shared/ui/table.tsx';
import { CampaignStatusTag, useChannelName } from './campaign-status.tsx';
import { NewCampaign } from './new-campaign.tsx';
import { campaignsQuery, type ListedCampaign } from './queries.ts';

/** Campaigns, most recently changed first. */
export function CampaignsPage() {
  const { t } = useLingui();
  const may = useMay();
  const { data, error, refetch } = useQuery(campaignsQuery);
  const [isMaking, setMaking] = useState(false);
  const add = may('campaign.write') ? (
    <Button kind="primary" onClick={() => setMaking(true)}>
      <Icon name="plus" />
      <Trans>کمپین تازه</Trans>
    </Button>
  ) : null;
  return (
    <Page
      title={t`کمپین‌ها`}
      lead={t`یک پیام برای همهٔ اشخاص یک سگمنت، یک بار یا به تناوب.`}
      actions={add}
    >
      <Card title={<Trans>کمپین‌های حساب</Trans>}>
        {error ? (
          <ProblemState error={error} retry={() => void refetch()} />
        ) : !data ? (
          <Loading lines={8} />
        ) : data.campaigns.length === 0 ? (
          <Empty title={<Trans>هنوز کمپینی نیست</Trans>} action={add}>
            <Trans>یک سگمنت و یک قالب انتخاب کنید؛ پیش از ارسال می‌بینید به چند نفر می‌رسد.</Trans>
          </Empty>
        ) : (
          <CampaignTable campaigns={data.campaigns} />
        )}
      </Card>
      {isMaking ? <NewCampaign onClose={() => setMaking(false)} /> : null}
    </Page>
  );
}

function CampaignTable({ campaigns }: { campaigns: readonly ListedCampaign[] }) {
  const { t } = useLingui();
  const { dateTime } = useFormat();
  const channelName = useChannelName();
  return (
    <Table
      label={t`کمپین‌ها`}
      rows={campaigns}
      rowKey={({ id }) => id}
      columns={[
        {
          key: 'name',
          header: <Trans>نام</Trans>,
          isRowHeader: true,
          cell: ({ id, name }) => (
            <Link to="/campaigns/$id" params={{ id: String(id) }}>
              <bdi>{name}</bdi>
            </Link>
          ),
        },
        {
          key: 'channel',
          header: <Trans>کانال</Trans>,
          cell: ({ channel }) => channelName(channel),
        },
        {
          key: 'status',
          header: <Trans>وضعیت</Trans>,
          cell: ({ status }) => <CampaignStatusTag status={status} />,
        },
        {
          key: 'scheduled',
          header: <Trans>زمان ارسال</Trans>,
          cell: ({ scheduled_at }) =>
            scheduled_at === null ? '–' : dateTime(Date.parse(scheduled_at)),
        },
        {
          key: 'at',
          header: <Trans>آخرین تغییر</Trans>,
          cell: ({ updated_at }) => dateTime(Date.parse(updated_at)),
        },
      ]}
    />
  );
}
