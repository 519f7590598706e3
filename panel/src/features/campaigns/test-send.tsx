import { Trans } from '@lingui/react/macro';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { api } from '../../shared/api/request.ts';
import { TextField } from '../../shared/ui/field.tsx';
import { Form } from '../../shared/ui/form.tsx';
import { Banner } from '../../shared/ui/states.tsx';
import type { Template } from './queries.ts';

interface Sent {
  status: string;
  /** Why it was deliberately not sent. */
  reason_fa?: string;
  reason?: string;
}

/** Sends the newest version of a template to one person, as a transactional message. */
export function TestSend({ template }: { template: Template }) {
  const [person, setPerson] = useState('');
  const send = useMutation({
    mutationFn: () =>
      api<Sent>('/v1/messages', {
        method: 'POST',
        body: {
          user_id: person.trim(),
          template_id: template.id,
          channel: template.channel,
          idempotency_key: `test-${crypto.randomUUID()}`,
        },
      }),
  });
  const { data } = send;
  return (
    <Form
      action={<Trans>ارسال آزمایشی</Trans>}
      isBusy={send.isPending}
      error={send.error}
      onSubmit={() => send.mutate()}
    >
      <TextField
        label={<Trans>شناسهٔ گیرنده (user_id)</Trans>}
        hint={<Trans>پیام واقعاً فرستاده می‌شود و در شمار پیام‌هاست.</Trans>}
        dir="ltr"
        required
        value={person}
        onChange={(event) => setPerson(event.target.value)}
      />
      {data ? (
        data.status === 'sent' ? (
          <Banner tone="success">
            <Trans>فرستاده شد.</Trans>
          </Banner>
        ) : (
          <Banner tone="warning">
            <Trans>
              فرستاده نشد: <bdi>{data.reason_fa ?? data.reason ?? data.status}</bdi>
            </Trans>
          </Banner>
        )
      ) : null}
    </Form>
  );
}
