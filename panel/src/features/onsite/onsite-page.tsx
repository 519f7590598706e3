import { Trans, useLingui } from '@lingui/react/macro';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api } from '../../shared/api/request.ts';
import { useFormat } from '../../shared/format/use-format.ts';
import { useMay } from '../../shared/session/session.ts';
import { Button } from '../../shared/ui/button.tsx';
import { Card } from '../../shared/ui/card.tsx';
import { Dialog } from '../../shared/ui/dialog.tsx';
import { Icon } from '../../shared/ui/icon.tsx';
import { Page } from '../../shared/ui/page.tsx';
import { Banner, Empty, Loading, ProblemState, ProblemText } from '../../shared/ui/states.tsx';
import { Table } from '../../shared/ui/table.tsx';
import { Tag } from '../../shared/ui/tag.tsx';
import { NewOnsite } from './new-onsite.tsx';
import { OnsitePreview } from './onsite-preview.tsx';
import { contentOf, onsiteQuery, type OnsiteCampaign } from './onsite.ts';
import { useFrequencyName, useKindName } from './names.ts';

/** Popups, banners, surveys and forms that visitors of the site see. */
export function OnsitePage() {
  const { t } = useLingui();
  const may = useMay();
  const { data, error, refetch } = useQuery(onsiteQuery);
  const [isMaking, setMaking] = useState(false);
  const canSend = may('campaign.send');
  return (
    <Page
      title={t`کمپین‌های درون سایت`}
      lead={t`پنجره، نوار، نظرسنجی و فرمی که بازدیدکنندگان سایت می‌بینند.`}
      actions={
        canSend ? (
          <Button kind="primary" onClick={() => setMaking(true)}>
            <Icon name="plus" />
            <Trans>کمپین تازه</Trans>
          </Button>
        ) : null
      }
    >
      <Card title={<Trans>کمپین‌ها</Trans>}>
        {error && data ? (
          <Banner tone="warning">
            <Trans>ارتباط با سرور قطع است؛ وضعیت‌ها شاید تازه نباشند.</Trans>
          </Banner>
        ) : null}
        {error && !data ? (
          <ProblemState error={error} retry={() => void refetch()} />
        ) : !data ? (
          <Loading />
        ) : data.campaigns.length === 0 ? (
          <Empty title={<Trans>هنوز کمپینی درون سایت نیست</Trans>}>
            <Trans>
              کمپین تازه چند ثانیه پس از ساختن دیده می‌شود، و هرگاه بخواهید متوقف می‌شود.
            </Trans>
          </Empty>
        ) : (
          <Campaigns campaigns={data.campaigns} canSend={canSend} />
        )}
      </Card>
      {isMaking ? <NewOnsite onClose={() => setMaking(false)} /> : null}
    </Page>
  );
}

function Campaigns({
  campaigns,
  canSend,
}: {
  campaigns: readonly OnsiteCampaign[];
  canSend: boolean;
}) {
  const { t } = useLingui();
  const { dateTime } = useFormat();
  const kindName = useKindName();
  const frequencyName = useFrequencyName();
  const queryClient = useQueryClient();
  const [shown, setShown] = useState<OnsiteCampaign>();
  const change = useMutation({
    mutationFn: ({ id, verb }: { id: number; verb: 'pause' | 'resume' }) =>
      api(`/v1/onsite-campaigns/${id}/${verb}`, { method: 'POST' }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ['onsite'] }),
  });
  return (
    <>
      {change.error ? (
        <div role="alert">
          <Banner tone="danger">
            <ProblemText error={change.error} />
          </Banner>
        </div>
      ) : null}
      <Table
        label={t`کمپین‌های درون سایت`}
        rows={campaigns}
        rowKey={({ id }) => id}
        columns={[
          {
            key: 'name',
            header: <Trans>نام</Trans>,
            isRowHeader: true,
            cell: (campaign) => (
              <Button kind="quiet" onClick={() => setShown(campaign)}>
                <bdi>{campaign.name}</bdi>
              </Button>
            ),
          },
          {
            key: 'kind',
            header: <Trans>گونه</Trans>,
            cell: ({ definition }) => kindName(definition.kind),
          },
          {
            key: 'who',
            header: <Trans>چه کسی</Trans>,
            cell: ({ has_audience }) =>
              has_audience ? <Trans>یک سگمنت</Trans> : <Trans>همه</Trans>,
          },
          {
            key: 'often',
            header: <Trans>چند بار</Trans>,
            cell: ({ definition }) => frequencyName(definition.frequency),
          },
          {
            key: 'state',
            header: <Trans>وضعیت</Trans>,
            cell: ({ enabled, ends_at }) =>
              !enabled ? (
                <Tag>
                  <Trans>متوقف</Trans>
                </Tag>
              ) : ends_at !== null && Date.parse(ends_at) <= Date.now() ? (
                <Tag>
                  <Trans>پایان یافته</Trans>
                </Tag>
              ) : (
                <Tag tone="success">
                  <Trans>روشن</Trans>
                </Tag>
              ),
          },
          {
            key: 'at',
            header: <Trans>ساخته شد</Trans>,
            cell: ({ created_at }) => dateTime(Date.parse(created_at)),
          },
          {
            key: 'actions',
            header: (
              <span className="visually-hidden">
                <Trans>کارها</Trans>
              </span>
            ),
            cell: ({ id, enabled }) =>
              canSend ? (
                <Button
                  kind="quiet"
                  disabled={change.isPending}
                  onClick={() => change.mutate({ id, verb: enabled ? 'pause' : 'resume' })}
                >
                  {enabled ? <Trans>توقف</Trans> : <Trans>ادامه</Trans>}
                </Button>
              ) : null,
          },
        ]}
      />
      {shown ? (
        <Dialog title={<bdi>{shown.name}</bdi>} onClose={() => setShown(undefined)}>
          <OnsitePreview
            kind={shown.definition.kind}
            content={contentOf(shown.definition.content)}
            fields={shown.definition.fields}
          />
          {shown.definition.url.length > 0 ? (
            <ul>
              {shown.definition.url.map(({ op, value }) => (
                <li key={`${op} ${value}`}>
                  <code dir="ltr">
                    {op} {value}
                  </code>
                </li>
              ))}
            </ul>
          ) : null}
        </Dialog>
      ) : null}
    </>
  );
}
