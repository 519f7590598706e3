import { Trans, useLingui } from '@lingui/react/macro';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useFormat } from '../../shared/format/use-format.ts';
import { Card } from '../../shared/ui/card.tsx';
import { Page } from '../../shared/ui/page.tsx';
import { Loading, ProblemState } from '../../shared/ui/states.tsx';
import { BalanceCard, ResultCard } from './campaign-cards.tsx';
import { CampaignActions } from './campaign-actions.tsx';
import { CampaignStatusTag, useChannelName } from './campaign-status.tsx';
import { campaignQuery, templatesQuery, type Campaign } from './queries.ts';
import { TemplatePreview } from './template-preview.tsx';
import { utmParameters } from './utm.ts';
import styles from './campaigns.module.css';

const route = getRouteApi('/member/campaigns/$id');

/** A campaign: what is sent to whom, where its messages are, and what they caused. */
export function CampaignPage() {
  const { t } = useLingui();
  const { id } = route.useParams();
  const { data, error, refetch } = useQuery(campaignQuery(id));
  return (
    <Page
      title={data?.name ?? t`کمپین`}
      lead={data ? <CampaignStatusTag status={data.status} /> : undefined}
      actions={data ? <CampaignActions campaign={data} /> : null}
    >
      {data ? (
        <div className={styles['grid']}>
          <BalanceCard stats={data.stats} />
          <ResultCard stats={data.stats} goal={data.goal} />
          <PlanCard campaign={data} />
          <TemplateCard campaign={data} />
        </div>
      ) : error ? (
        <ProblemState error={error} retry={() => void refetch()} />
      ) : (
        <Loading lines={12} />
      )}
    </Page>
  );
}

function PlanCard({ campaign }: { campaign: Campaign }) {
  const { dateTime, percent } = useFormat();
  const channelName = useChannelName();
  const { channel, category, segment_id, scheduled_at, recurrence, control_percent, utm } =
    campaign;
  return (
    <Card title={<Trans>برنامه</Trans>}>
      <dl className={styles['list']}>
        <div>
          <dt>
            <Trans>کانال</Trans>
          </dt>
          <dd>{channelName(channel)}</dd>
        </div>
        <div>
          <dt>
            <Trans>گونه</Trans>
          </dt>
          <dd>{category === 'marketing' ? <Trans>بازاریابی</Trans> : <Trans>خدماتی</Trans>}</dd>
        </div>
        <div>
          <dt>
            <Trans>مخاطب</Trans>
          </dt>
          <dd>
            {segment_id === null ? (
              <Trans>تعریف خود کمپین</Trans>
            ) : (
              <Link to="/segments/$id" params={{ id: String(segment_id) }}>
                <Trans>سگمنت</Trans>
              </Link>
            )}
          </dd>
        </div>
        <div>
          <dt>
            <Trans>گروه کنترل</Trans>
          </dt>
          <dd>{percent(control_percent / 100)}</dd>
        </div>
        <div>
          <dt>
            <Trans>زمان ارسال</Trans>
          </dt>
          <dd>{scheduled_at === null ? '–' : dateTime(Date.parse(scheduled_at))}</dd>
        </div>
        {utm ? (
          <div>
            <dt>
              <Trans>نشان پیوندهای پیام</Trans>
            </dt>
            <dd dir="ltr">
              {utmParameters(utm).map((parameter) => (
                <div key={parameter}>{parameter}</div>
              ))}
            </dd>
          </div>
        ) : null}
        {recurrence ? (
          <div>
            <dt>
              <Trans>سه نوبت بعدی</Trans>
            </dt>
            <dd>
              {recurrence.next.map((at) => (
                <span key={at}>
                  {dateTime(Date.parse(at))}
                  <br />
                </span>
              ))}
            </dd>
          </div>
        ) : null}
      </dl>
    </Card>
  );
}

function TemplateCard({ campaign }: { campaign: Campaign }) {
  const { data, error } = useQuery(templatesQuery);
  const template = data?.templates.find(({ id }) => id === campaign.template_id);
  return (
    <Card title={<Trans>پیام</Trans>}>
      {error ? (
        <ProblemState error={error} />
      ) : template ? (
        <TemplatePreview template={template} />
      ) : data ? (
        <p>
          <Trans>این قالب دیگر نیست.</Trans>
        </p>
      ) : (
        <Loading />
      )}
    </Card>
  );
}
