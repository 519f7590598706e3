import { Trans } from '@lingui/react/macro';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api } from '../../shared/api/request.ts';
import { EventsField } from '../../shared/report/events-field.tsx';
import { Dialog } from '../../shared/ui/dialog.tsx';
import { CheckField, TextField } from '../../shared/ui/field.tsx';
import { Form } from '../../shared/ui/form.tsx';
import type { Relay } from './queries.ts';

/** A new relay, or the fields of one; its filters stay as they are. */
export function RelayDialog({ relay, onClose }: { relay: Relay | undefined; onClose: () => void }) {
  const queryClient = useQueryClient();
  const [name, setName] = useState(relay?.name ?? '');
  const [url, setUrl] = useState(relay?.url ?? 'https://');
  const [events, setEvents] = useState(relay?.events ?? []);
  const [secret, setSecret] = useState('');
  const [enabled, setEnabled] = useState(relay?.enabled ?? true);
  const save = useMutation({
    mutationFn: () =>
      api('/v1/relays', {
        method: 'PUT',
        body: {
          ...(relay ? { id: relay.id } : {}),
          ...{ name: name.trim(), url: url.trim(), enabled, secret },
          events: [...new Set(events)].filter((event) => event !== ''),
          filters: relay?.filters ?? [],
        },
      }),
    onSuccess: async () => {
      await queryClient.invalidateQueries({ queryKey: ['relays'] });
      onClose();
    },
  });
  return (
    <Dialog title={relay ? <Trans>ویرایش رله</Trans> : <Trans>رلهٔ تازه</Trans>} onClose={onClose}>
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
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
        <TextField
          label={<Trans>نشانی</Trans>}
          hint={<Trans>تنها نشانی‌های https عمومی پذیرفته می‌شوند.</Trans>}
          type="url"
          dir="ltr"
          required
          value={url}
          onChange={(event) => setUrl(event.target.value)}
        />
        <EventsField
          label={<Trans>رویدادها</Trans>}
          hint={<Trans>اگر نامی نباشد، همهٔ رویدادها.</Trans>}
          value={events}
          onChange={setEvents}
        />
        <TextField
          label={<Trans>راز امضا</Trans>}
          hint={relay ? <Trans>خالی: بی‌تغییر.</Trans> : undefined}
          type="password"
          dir="ltr"
          autoComplete="off"
          value={secret}
          onChange={(event) => setSecret(event.target.value)}
        />
        <CheckField label={<Trans>روشن</Trans>} isChecked={enabled} onChange={setEnabled} />
      </Form>
    </Dialog>
  );
}
