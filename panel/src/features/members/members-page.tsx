import { Trans, useLingui } from '@lingui/react/macro';
import { queryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { tehranDay } from '../../../../events/tehran-time.ts';
import { roles, type Role } from './roles.ts';
import { api } from '../../shared/api/request.ts';
import { useFormat } from '../../shared/format/use-format.ts';
import { useRoleName } from '../../shared/session/role-name.ts';
import { useMay, useSession } from '../../shared/session/session.ts';
import { Button } from '../../shared/ui/button.tsx';
import { Card } from '../../shared/ui/card.tsx';
import { ConfirmDialog, Dialog } from '../../shared/ui/dialog.tsx';
import { SelectField } from '../../shared/ui/field.tsx';
import { Form } from '../../shared/ui/form.tsx';
import { Icon } from '../../shared/ui/icon.tsx';
import { Page } from '../../shared/ui/page.tsx';
import { Loading, ProblemState } from '../../shared/ui/states.tsx';
import { Table } from '../../shared/ui/table.tsx';
import { AddMember } from './add-member.tsx';

interface Member {
  id: number;
  email: string;
  role: Role;
  created_at: string;
}

const membersQuery = queryOptions({
  queryKey: ['members'],
  queryFn: ({ signal }) => api<{ members: Member[] }>('/v1/members', { signal }),
});

/** Who belongs to the account, and what they may do. */
export function MembersPage() {
  const { t } = useLingui();
  const may = useMay();
  const { data, error, refetch } = useQuery(membersQuery);
  const [open, setOpen] = useState<'add' | { change: Member } | { remove: Member }>();
  const close = () => setOpen(undefined);
  const canWrite = may('member.write');
  return (
    <Page
      title={t`اعضا`}
      lead={t`هر عضو با نشانی ایمیل و گذرواژهٔ خود وارد می‌شود و مجوزهای نقش خود را دارد.`}
      actions={
        canWrite ? (
          <Button kind="primary" onClick={() => setOpen('add')}>
            <Icon name="plus" />
            <Trans>افزودن عضو</Trans>
          </Button>
        ) : null
      }
    >
      <Card title={<Trans>اعضای حساب</Trans>}>
        {error ? (
          <ProblemState error={error} retry={() => void refetch()} />
        ) : !data ? (
          <Loading />
        ) : (
          <MemberTable
            members={data.members}
            onChange={canWrite ? (change) => setOpen({ change }) : undefined}
            onRemove={canWrite ? (remove) => setOpen({ remove }) : undefined}
          />
        )}
      </Card>
      {open === 'add' ? <AddMember onClose={close} /> : null}
      {typeof open === 'object' && 'change' in open ? (
        <ChangeRole member={open.change} onClose={close} />
      ) : null}
      {typeof open === 'object' && 'remove' in open ? (
        <RemoveMember member={open.remove} onClose={close} />
      ) : null}
    </Page>
  );
}

function MemberTable({
  members,
  onChange,
  onRemove,
}: {
  members: readonly Member[];
  onChange: ((member: Member) => void) | undefined;
  onRemove: ((member: Member) => void) | undefined;
}) {
  const { t } = useLingui();
  const roleName = useRoleName();
  const { day } = useFormat();
  const own = useSession().member.id;
  return (
    <Table
      label={t`اعضای حساب`}
      rows={members}
      rowKey={({ id }) => id}
      columns={[
        {
          key: 'email',
          header: <Trans>نشانی ایمیل</Trans>,
          isRowHeader: true,
          cell: ({ id, email }) => (
            <>
              <bdi>{email}</bdi> {id === own ? <Trans>(شما)</Trans> : null}
            </>
          ),
        },
        { key: 'role', header: <Trans>نقش</Trans>, cell: ({ role }) => roleName(role) },
        {
          key: 'since',
          header: <Trans>عضو از</Trans>,
          cell: ({ created_at }) => day(tehranDay(Date.parse(created_at))),
        },
        {
          key: 'actions',
          header: (
            <span className="visually-hidden">
              <Trans>کارها</Trans>
            </span>
          ),
          cell: (member) =>
            member.id === own || !onChange || !onRemove ? null : (
              <>
                <Button kind="quiet" onClick={() => onChange(member)}>
                  <Trans>تغییر نقش</Trans>
                </Button>
                <Button kind="quiet" onClick={() => onRemove(member)}>
                  <Trans>حذف</Trans>
                </Button>
              </>
            ),
        },
      ]}
    />
  );
}

function ChangeRole({ member, onClose }: { member: Member; onClose: () => void }) {
  const roleName = useRoleName();
  const queryClient = useQueryClient();
  const [role, setRole] = useState(member.role);
  const change = useMutation({
    mutationFn: () => api(`/v1/members/${member.id}/role`, { method: 'PUT', body: { role } }),
    onSuccess: async () => {
      await queryClient.invalidateQueries({ queryKey: ['members'] });
      onClose();
    },
  });
  return (
    <Dialog
      title={
        <Trans>
          نقش <bdi>{member.email}</bdi>
        </Trans>
      }
      onClose={onClose}
    >
      <Form
        action={<Trans>تغییر نقش</Trans>}
        isBusy={change.isPending}
        error={change.error}
        onSubmit={() => change.mutate()}
        onCancel={onClose}
      >
        <SelectField
          label={<Trans>نقش</Trans>}
          hint={<Trans>این عضو از همهٔ نشست‌هایش خارج می‌شود.</Trans>}
          value={role}
          choices={roles.map((value) => ({ value, label: roleName(value) }))}
          onChange={setRole}
        />
      </Form>
    </Dialog>
  );
}

function RemoveMember({ member, onClose }: { member: Member; onClose: () => void }) {
  const queryClient = useQueryClient();
  const remove = useMutation({
    mutationFn: () => api(`/v1/members/${member.id}`, { method: 'DELETE' }),
    onSuccess: async () => {
      await queryClient.invalidateQueries({ queryKey: ['members'] });
      onClose();
    },
  });
  return (
    <ConfirmDialog
      title={<Trans>حذف عضو</Trans>}
      action={<Trans>حذف عضو</Trans>}
      name={member.email}
      isBusy={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate()}
      onClose={onClose}
    >
      <Trans>این شخص بی‌درنگ خارج می‌شود و دیگر این حساب را نمی‌بیند.</Trans>
    </ConfirmDialog>
  );
}
