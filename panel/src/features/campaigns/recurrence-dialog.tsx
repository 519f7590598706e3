import { Trans, useLingui } from '@lingui/react/macro';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api } from '../../shared/api/request.ts';
import { useFormat } from '../../shared/format/use-format.ts';
import { useToday } from '../../shared/format/use-now.ts';
import { Button } from '../../shared/ui/button.tsx';
import { Dialog } from '../../shared/ui/dialog.tsx';
import { SelectField } from '../../shared/ui/field.tsx';
import { Form } from '../../shared/ui/form.tsx';
import { Banner } from '../../shared/ui/states.tsx';
import type { Campaign } from './queries.ts';
import { WhenField } from './when-field.tsx';
import { EVERY, firstDays, instantOf, ruleOf, type Every } from './when.ts';
import styles from './campaigns.module.css';

interface Armed {
  next: string[];
}

/** Sends a campaign again and again: every day, week or Jalali month, from a time on. */
export function RecurrenceDialog({
  campaign,
  onClose,
}: {
  campaign: Campaign;
  onClose: () => void;
}) {
  const { t } = useLingui();
  const { dateTime, digits, fullDay } = useFormat();
  const today = useToday();
  const queryClient = useQueryClient();
  const path = `/v1/campaigns/${campaign.id}/recurrence` as const;
  const [every, setEvery] = useState<Every>('week');
  const [when, setWhen] = useState({ day: today + 1, time: '10:00' });
  const startsAt = instantOf(when);
  const refresh = () => queryClient.invalidateQueries({ queryKey: ['campaigns'] });
  const arm = useMutation({
    mutationFn: () =>
      api<Armed>(path, { method: 'PUT', body: { rule: ruleOf(every), starts_at: startsAt } }),
    onSuccess: refresh,
  });
  const remove = useMutation({
    mutationFn: () => api(path, { method: 'DELETE' }),
    onSuccess: async () => {
      await refresh();
      onClose();
    },
  });
  const names = { day: t`هر روز`, week: t`هر هفته`, month: t`هر ماه جلالی` };
  return (
    <Dialog title={<Trans>ارسال به تناوب</Trans>} onClose={onClose}>
      {arm.data ? (
        <Banner tone="success">
          <Trans>سه نوبت بعدی:</Trans>{' '}
          {arm.data.next.map((at) => (
            <span key={at}>{dateTime(Date.parse(at))} · </span>
          ))}
        </Banner>
      ) : null}
      <Form
        action={<Trans>برقرار کردن تناوب</Trans>}
        isBusy={arm.isPending}
        error={arm.error ?? remove.error}
        onSubmit={() => arm.mutate()}
        onCancel={onClose}
      >
        <SelectField
          label={<Trans>هر چند وقت</Trans>}
          value={every}
          choices={EVERY.map((value) => ({ value, label: names[value] }))}
          onChange={setEvery}
        />
        <p>
          <Trans>نخستین بار:</Trans>
        </p>
        <WhenField value={when} onChange={setWhen} />
        {arm.data ? null : (
          <div>
            <Trans>سه نوبت نخست:</Trans>
            <ul className={styles['dates']} aria-live="polite">
              {firstDays(every, when.day).map((day) => (
                <li key={day}>
                  {fullDay(day)} · <bdi>{digits(when.time)}</bdi>
                </li>
              ))}
            </ul>
          </div>
        )}
      </Form>
      {campaign.recurrence ? (
        <Button kind="quiet" isBusy={remove.isPending} onClick={() => remove.mutate()}>
          <Trans>برداشتن تناوب</Trans>
        </Button>
      ) : null}
    </Dialog>
  );
}
