import { Trans, useLingui } from '@lingui/react/macro';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api } from '../../shared/api/request.ts';
import { Dialog } from '../../shared/ui/dialog.tsx';
import { SelectField, TextArea, TextField } from '../../shared/ui/field.tsx';
import { Form } from '../../shared/ui/form.tsx';
import { useChannelName } from './campaign-status.tsx';
import type { Template } from './queries.ts';
import { TemplatePreview } from './template-preview.tsx';

const CHANNELS = ['email', 'sms', 'push', 'web', 'inapp', 'bale', 'eitaa', 'rubika'] as const;
const CATEGORIES = ['marketing', 'service', 'transactional'] as const;

const EXAMPLE = '{{ user.first_name }}';

type Part = 'subject' | 'title' | 'text' | 'html' | 'url';

/** The parts that messages of a channel have. */
function partsOf(channel: string): readonly Part[] {
  switch (channel) {
    case 'email':
      return ['subject', 'text', 'html'];
    case 'push':
    case 'web':
    case 'inapp':
      return ['title', 'text', 'url'];
    default:
      return ['text'];
  }
}

/** A new template, or the next version of one; its channel and category never change. */
export function TemplateForm({
  template,
  onClose,
}: {
  template: Template | undefined;
  onClose: () => void;
}) {
  const { t } = useLingui();
  const queryClient = useQueryClient();
  const channelName = useChannelName();
  const [name, setName] = useState(template?.name ?? '');
  const [channel, setChannel] = useState<string>(template?.channel ?? 'email');
  const [category, setCategory] = useState<string>(template?.category ?? 'marketing');
  const [content, setContent] = useState<Partial<Record<Part, string>>>(template?.content ?? {});
  const parts = partsOf(channel);
  const used = Object.fromEntries(
    parts.flatMap((part) => {
      const text = content[part] ?? '';
      return text === '' ? [] : [[part, text]];
    }),
  );
  const save = useMutation({
    mutationFn: () =>
      api(template ? `/v1/templates/${template.id}` : '/v1/templates', {
        method: template ? 'PUT' : 'POST',
        body: { ...template?.content, ...{ name: name.trim(), channel, category }, ...used },
      }),
    onSuccess: async () => {
      await queryClient.invalidateQueries({ queryKey: ['templates'] });
      onClose();
    },
  });
  const labels: Readonly<Record<Part, string>> = {
    subject: t`موضوع`,
    title: t`عنوان`,
    text: t`متن`,
    html: t`متن HTML`,
    url: t`نشانی هنگام لمس`,
  };
  const categories = {
    marketing: t`بازاریابی`,
    service: t`خدماتی`,
    transactional: t`تراکنشی`,
  };
  const set = (part: Part) => (text: string) => setContent({ ...content, [part]: text });
  return (
    <Dialog
      title={template ? <Trans>نسخهٔ تازهٔ قالب</Trans> : <Trans>قالب تازه</Trans>}
      onClose={onClose}
    >
      <Form
        action={<Trans>ذخیره</Trans>}
        isBusy={save.isPending}
        error={save.error}
        onSubmit={() => save.mutate()}
        onCancel={onClose}
      >
        <TextField
          label={<Trans>نام</Trans>}
          required
          maxLength={200}
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
        {template ? null : (
          <>
            <SelectField
              label={<Trans>کانال</Trans>}
              value={channel}
              choices={CHANNELS.map((value) => ({
                value: value,
                label: channelName(value),
              }))}
              onChange={setChannel}
            />
            <SelectField
              label={<Trans>گونه</Trans>}
              hint={<Trans>پیام بازاریابی تنها به کسانی می‌رسد که پذیرفته‌اند.</Trans>}
              value={category}
              choices={CATEGORIES.map((value) => ({
                value: value,
                label: categories[value],
              }))}
              onChange={setCategory}
            />
          </>
        )}
        {parts.map((part) =>
          part === 'text' || part === 'html' ? (
            <TextArea
              key={part}
              label={labels[part]}
              {...(part === 'text'
                ? { hint: <Trans>متغیرها میان دو آکولاد: {EXAMPLE}</Trans> }
                : {})}
              rows={part === 'html' ? 8 : 4}
              value={content[part] ?? ''}
              onChange={set(part)}
            />
          ) : (
            <TextField
              key={part}
              label={labels[part]}
              dir={part === 'url' ? 'ltr' : 'auto'}
              value={content[part] ?? ''}
              onChange={(event) => set(part)(event.target.value)}
            />
          ),
        )}
        <TemplatePreview template={{ channel, content }} />
      </Form>
    </Dialog>
  );
}
