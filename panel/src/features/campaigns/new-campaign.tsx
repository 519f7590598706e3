import { Trans, useLingui } from '@lingui/react/macro';
import { queryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../../shared/api/request.ts';
import { useToday } from '../../shared/format/use-now.ts';
import { numberIn } from '../../shared/report/condition.ts';
import { EventField } from '../../shared/report/event-field.tsx';
import { Dialog } from '../../shared/ui/dialog.tsx';
import { CheckField, SelectField, TextField } from '../../shared/ui/field.tsx';
import { Form } from '../../shared/ui/form.tsx';
import { Empty, Loading, ProblemState } from '../../shared/ui/states.tsx';
import { useChannelName } from './campaign-status.tsx';
import { templatesQuery, type Campaign, type Template } from './queries.ts';
import { TemplatePreview } from './template-preview.tsx';
import { enteredUtm, NO_UTM } from './utm.ts';
import { UtmFields } from './utm-fields.tsx';
import { WhenField } from './when-field.tsx';
import { instantOf } from './when.ts';
import styles from './campaigns.module.css';

const segmentsQuery = queryOptions({
  queryKey: ['segments'],
  queryFn: ({ signal }) =>
    api<{ segments: { id: number; name: string }[] }>('/v1/segments', { signal }),
});

/** A draft: who gets which template. Nothing is sent yet. */
export function NewCampaign({ onClose }: { onClose: () => void }) {
  const templates = useQuery(templatesQuery);
  const segments = useQuery(segmentsQuery);
  const failed = [templates, segments].find(({ error }) => error);
  return (
    <Dialog title={<Trans>کمپین تازه</Trans>} onClose={onClose}>
      {failed ? (
        <ProblemState error={failed.error} retry={() => void failed.refetch()} />
      ) : !templates.data || !segments.data ? (
        <Loading lines={5} />
      ) : templates.data.templates.length === 0 || segments.data.segments.length === 0 ? (
        <Empty title={<Trans>نخست یک سگمنت و یک قالب لازم است</Trans>}>
          <Trans>سگمنت را در «سگمنت‌ها» و قالب را در «قالب‌ها» بسازید.</Trans>
        </Empty>
      ) : (
        <CampaignForm
          templates={templates.data.templates}
          segments={segments.data.segments}
          onClose={onClose}
        />
      )}
    </Dialog>
  );
}

function CampaignForm({
  templates,
  segments,
  onClose,
}: {
  templates: readonly Template[];
  segments: readonly { id: number; name: string }[];
  onClose: () => void;
}) {
  const { t } = useLingui();
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const channelName = useChannelName();
  const [name, setName] = useState('');
  const [templateId, setTemplateId] = useState(String(templates[0]?.id ?? ''));
  const [segmentId, setSegmentId] = useState(String(segments[0]?.id ?? ''));
  const [control, setControl] = useState('0');
  const [goal, setGoal] = useState({ event: '', hours: '72' });
  const [category, setCategory] = useState<Campaign['category']>('marketing');
  const [utm, setUtm] = useState(NO_UTM);
  const today = useToday();
  const [isScheduled, setScheduled] = useState(false);
  const [when, setWhen] = useState({ day: today + 1, time: '10:00' });
  const template = templates.find(({ id }) => String(id) === templateId);
  const make = useMutation({
    mutationFn: () =>
      api<{ id: number }>('/v1/campaigns', {
        method: 'POST',
        body: {
          name: name.trim(),
          channel: template?.channel,
          template_id: Number(templateId),
          segment_id: Number(segmentId),
          control_percent: numberIn(control) ?? 0,
          category,
          ...(goal.event.trim() === ''
            ? {}
            : { goal: { event: goal.event.trim(), window_hours: numberIn(goal.hours) ?? 0 } }),
          utm: enteredUtm(utm),
          ...(isScheduled ? { scheduled_at: instantOf(when) } : {}),
        },
      }),
    onSuccess: async ({ id }) => {
      await queryClient.invalidateQueries({ queryKey: ['campaigns'] });
      await navigate({ to: '/campaigns/$id', params: { id: String(id) } });
    },
  });
  return (
    <Form
      action={<Trans>ساختن پیش‌نویس</Trans>}
      isBusy={make.isPending}
      error={make.error}
      onSubmit={() => make.mutate()}
      onCancel={onClose}
    >
      <TextField
        label={<Trans>نام کمپین</Trans>}
        required
        maxLength={100}
        value={name}
        onChange={(event) => setName(event.target.value)}
      />
      <SelectField
        label={<Trans>سگمنت</Trans>}
        value={segmentId}
        choices={segments.map((one) => ({ value: String(one.id), label: one.name }))}
        onChange={setSegmentId}
      />
      <SelectField
        label={<Trans>قالب</Trans>}
        value={templateId}
        choices={templates.map((one) => ({
          value: String(one.id),
          label: t`${one.name} (${channelName(one.channel)})`,
        }))}
        onChange={setTemplateId}
      />
      {template ? <TemplatePreview template={template} /> : null}
      <SelectField
        label={<Trans>گونه</Trans>}
        hint={
          <Trans>
            بازاریابی لغو اشتراک و ساعت‌های سکوت را رعایت می‌کند؛ خدماتی دربارهٔ سفارش یا حساب خود
            شخص است.
          </Trans>
        }
        value={category}
        choices={[
          { value: 'marketing', label: t`بازاریابی` },
          { value: 'service', label: t`خدماتی` },
        ]}
        onChange={setCategory}
      />
      <div className={styles['pair']}>
        <EventField
          label={<Trans>رویداد هدف</Trans>}
          hint={
            <Trans>آنچه کمپین برای آن است، مانند خرید؛ بی آن تبدیل و درآمد شمرده نمی‌شوند.</Trans>
          }
          value={goal.event}
          onChange={(event) => setGoal({ ...goal, event })}
        />
        <TextField
          label={<Trans>تا چند ساعت پس از پیام</Trans>}
          inputMode="numeric"
          dir="ltr"
          value={goal.hours}
          onChange={(change) => setGoal({ ...goal, hours: change.target.value })}
        />
      </div>
      <TextField
        label={<Trans>گروه کنترل، درصد</Trans>}
        hint={<Trans>این بخش از سگمنت پیامی نمی‌گیرد، تا اثر کمپین سنجیده شود؛ ۰ تا ۵۰.</Trans>}
        inputMode="numeric"
        dir="ltr"
        value={control}
        onChange={(event) => setControl(event.target.value)}
      />
      <UtmFields value={utm} onChange={setUtm} />
      <CheckField
        label={<Trans>در زمانی معین فرستاده شود</Trans>}
        isChecked={isScheduled}
        onChange={setScheduled}
      />
      {isScheduled ? <WhenField value={when} onChange={setWhen} /> : null}
    </Form>
  );
}
