import { Trans, useLingui } from '@lingui/react/macro';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { api } from '../../shared/api/request.ts';
import { useFormat } from '../../shared/format/use-format.ts';
import { useRoleName } from '../../shared/session/role-name.ts';
import { Button } from '../../shared/ui/button.tsx';
import { CodeBlock } from '../../shared/ui/code-block.tsx';
import { Dialog } from '../../shared/ui/dialog.tsx';
import { SelectField, TextField } from '../../shared/ui/field.tsx';
import { Form } from '../../shared/ui/form.tsx';
import { Banner } from '../../shared/ui/states.tsx';

const ROLES = ['viewer', 'analyst', 'marketer', 'approver', 'finance', 'admin'] as const;
const DAYS = [30, 90, 365, 730];

export function NewWriteKey({ onClose }: { onClose: () => void }) {
  const { t } = useLingui();
  const [app, setApp] = useState('');
  const [environment, setEnvironment] = useState('production');
  const make = useMakeKey<{ write_key: string }>('/v1/write-keys');
  return (
    <KeyDialog
      title={<Trans>کلید نوشتن تازه</Trans>}
      made={make.data?.write_key}
      onClose={onClose}
      form={
        <Form
          action={<Trans>ساختن کلید</Trans>}
          isBusy={make.isPending}
          error={make.error}
          onSubmit={() => make.mutate({ app, environment })}
          onCancel={onClose}
        >
          <TextField
            label={<Trans>اپلیکیشن یا سایت</Trans>}
            placeholder={t`مثلاً: فروشگاه`}
            required
            maxLength={100}
            value={app}
            onChange={(event) => setApp(event.target.value)}
          />
          <TextField
            label={<Trans>محیط</Trans>}
            hint={<Trans>برای آزمایش کلید جدایی بسازید، مثلاً با محیط staging.</Trans>}
            required
            dir="ltr"
            maxLength={100}
            value={environment}
            onChange={(event) => setEnvironment(event.target.value)}
          />
        </Form>
      }
    />
  );
}

export function NewManagementKey({ onClose }: { onClose: () => void }) {
  const roleName = useRoleName();
  const { duration } = useFormat();
  const [role, setRole] = useState<(typeof ROLES)[number]>('analyst');
  const [days, setDays] = useState('365');
  const make = useMakeKey<{ management_key: string }>('/v1/management-keys');
  return (
    <KeyDialog
      title={<Trans>کلید مدیریت تازه</Trans>}
      made={make.data?.management_key}
      onClose={onClose}
      form={
        <Form
          action={<Trans>ساختن کلید</Trans>}
          isBusy={make.isPending}
          error={make.error}
          onSubmit={() => make.mutate({ role, expires_in_days: Number(days) })}
          onCancel={onClose}
        >
          <SelectField
            label={<Trans>نقش</Trans>}
            hint={<Trans>کلید همهٔ مجوزهای این نقش را دارد؛ کمترین نقش کافی را انتخاب کنید.</Trans>}
            value={role}
            choices={ROLES.map((value) => ({ value, label: roleName(value) }))}
            onChange={setRole}
          />
          <SelectField
            label={<Trans>مدت اعتبار</Trans>}
            value={days}
            choices={DAYS.map((value) => ({
              value: String(value),
              label: duration(value * 86_400),
            }))}
            onChange={setDays}
          />
        </Form>
      }
    />
  );
}

function useMakeKey<Answer>(path: `/v1/${string}`) {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: (body: object) => api<Answer>(path, { method: 'POST', body }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ['keys'] }),
  });
}

function KeyDialog({
  title,
  made,
  form,
  onClose,
}: {
  title: ReactNode;
  made: string | undefined;
  form: ReactNode;
  onClose: () => void;
}) {
  const { t } = useLingui();
  return (
    <Dialog
      title={title}
      onClose={onClose}
      actions={
        made === undefined ? undefined : (
          <Button kind="primary" onClick={onClose}>
            <Trans>رونوشت گرفتم</Trans>
          </Button>
        )
      }
    >
      {made === undefined ? (
        form
      ) : (
        <>
          <Banner tone="warning">
            <Trans>این کلید تنها همین یک بار نشان داده می‌شود؛ اکنون از آن رونوشت بگیرید.</Trans>
          </Banner>
          <CodeBlock label={t`کلید`} text={made} />
        </>
      )}
    </Dialog>
  );
}
