import { Trans } from '@lingui/react/macro';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { api } from '../../shared/api/request.ts';
import { TextField } from '../../shared/ui/field.tsx';
import { Form } from '../../shared/ui/form.tsx';
import { Banner } from '../../shared/ui/states.tsx';
import type { Template } from './queries.ts';
import { requestVariables } from './request-variables.ts';

interface Sent {
  status: string;
  /** Why it was deliberately not sent. */
  reason_fa?: string;
  reason?: string;
}

interface Asked {
  person: string;
  vars: Readonly<Record<string, string>>;
}

/**
 * Sends the newest version of a template to one person. A request whose answer did not arrive is
 * repeated with its key, so that it is one message; with an answer, or another recipient, the next
 * one is another message.
 */
export function TestSend({ template }: { template: Template }) {
  const [asked, setAsked] = useState<Asked>({ person: '', vars: {} });
  const [key, setKey] = useState(newKey);
  const send = useMutation({
    mutationFn: () =>
      api<Sent>(`/v1/templates/${template.id}/test`, {
        method: 'POST',
        body: { user_id: asked.person.trim(), idempotency_key: key, vars: asked.vars },
      }),
    onSuccess: () => setKey(newKey()),
  });
  const change = (changed: Partial<Asked>) => {
    setAsked({ ...asked, ...changed });
    setKey(newKey());
    send.reset();
  };
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
        hint={
          <Trans>
            پیام واقعاً فرستاده و شمرده می‌شود، اما در آمار هیچ کمپینی نیست. به کسی که لغو اشتراک
            کرده یا نشانی‌اش مسدود است فرستاده نمی‌شود؛ ساعت‌های سکوت و سقف پیام‌ها به حساب
            نمی‌آیند.
          </Trans>
        }
        dir="ltr"
        required
        value={asked.person}
        onChange={(event) => change({ person: event.target.value })}
      />
      {requestVariables(template).map((name) => (
        <TextField
          key={name}
          label={
            <Trans>
              مقدار <bdi>{`vars.${name}`}</bdi>
            </Trans>
          }
          dir="auto"
          value={asked.vars[name] ?? ''}
          onChange={(event) => change({ vars: { ...asked.vars, [name]: event.target.value } })}
        />
      ))}
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

function newKey(): string {
  return crypto.randomUUID();
}
