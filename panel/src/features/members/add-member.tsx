import { Trans, useLingui } from '@lingui/react/macro';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api } from '../../shared/api/request.ts';
import { useRoleName } from '../../shared/session/role-name.ts';
import { Button } from '../../shared/ui/button.tsx';
import { CodeBlock } from '../../shared/ui/code-block.tsx';
import { Dialog } from '../../shared/ui/dialog.tsx';
import { SelectField, TextField } from '../../shared/ui/field.tsx';
import { Form } from '../../shared/ui/form.tsx';
import { Banner } from '../../shared/ui/states.tsx';
import { roles, type Role } from './roles.ts';

interface Added {
  email: string;
  /** Of somebody new; shown once. */
  password?: string;
}

/** Adds a member; the generated password of somebody new is shown once. */
export function AddMember({ onClose }: { onClose: () => void }) {
  const { t } = useLingui();
  const roleName = useRoleName();
  const queryClient = useQueryClient();
  const [email, setEmail] = useState('');
  const [role, setRole] = useState<Role>('viewer');
  const add = useMutation({
    mutationFn: () => api<Added>('/v1/members', { method: 'POST', body: { email, role } }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ['members'] }),
  });
  const added = add.data;
  return (
    <Dialog
      title={<Trans>افزودن عضو</Trans>}
      onClose={onClose}
      actions={
        added ? (
          <Button kind="primary" onClick={onClose}>
            <Trans>تمام</Trans>
          </Button>
        ) : undefined
      }
    >
      {added ? (
        <>
          <p>
            <Trans>
              <bdi>{added.email}</bdi> اکنون عضو این حساب است.
            </Trans>
          </p>
          {added.password === undefined ? (
            <p>
              <Trans>این شخص پیش‌تر عضو حساب دیگری بوده است و با همان گذرواژه وارد می‌شود.</Trans>
            </p>
          ) : (
            <>
              <Banner tone="warning">
                <Trans>
                  این گذرواژه تنها همین یک بار نشان داده می‌شود؛ آن را از راهی امن به او برسانید.
                </Trans>
              </Banner>
              <CodeBlock label={t`گذرواژه`} text={added.password} />
            </>
          )}
        </>
      ) : (
        <Form
          action={<Trans>افزودن</Trans>}
          isBusy={add.isPending}
          error={add.error}
          onSubmit={() => add.mutate()}
          onCancel={onClose}
        >
          <TextField
            label={<Trans>نشانی ایمیل</Trans>}
            type="email"
            dir="ltr"
            required
            value={email}
            onChange={(event) => setEmail(event.target.value)}
          />
          <SelectField
            label={<Trans>نقش</Trans>}
            value={role}
            choices={roles.map((value) => ({ value, label: roleName(value) }))}
            onChange={setRole}
          />
        </Form>
      )}
    </Dialog>
  );
}
