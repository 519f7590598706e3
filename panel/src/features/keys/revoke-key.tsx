import { Trans } from '@lingui/react/macro';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { api } from '../../shared/api/request.ts';
import { ConfirmDialog } from '../../shared/ui/dialog.tsx';

export interface Revoked {
  kind: 'write' | 'management';
  id: number;
  /** Has to be typed. */
  name: string;
}

export function RevokeKey({ revoked, onClose }: { revoked: Revoked; onClose: () => void }) {
  const { kind, id, name } = revoked;
  const queryClient = useQueryClient();
  const revoke = useMutation({
    mutationFn: () => api(`/v1/${kind}-keys/${id}`, { method: 'DELETE' }),
    onSuccess: async () => {
      await queryClient.invalidateQueries({ queryKey: ['keys'] });
      onClose();
    },
  });
  return (
    <ConfirmDialog
      title={<Trans>ابطال کلید</Trans>}
      action={<Trans>ابطال کلید</Trans>}
      name={name}
      isBusy={revoke.isPending}
      error={revoke.error}
      onConfirm={() => revoke.mutate()}
      onClose={onClose}
    >
      {kind === 'write' ? (
        <Trans>
          رویدادهایی که با این کلید فرستاده شوند، حداکثر یک دقیقهٔ دیگر رد می‌شوند. این کار بازگشت
          ندارد.
        </Trans>
      ) : (
        <Trans>درخواست‌های این کلید حداکثر یک دقیقهٔ دیگر رد می‌شوند. این کار بازگشت ندارد.</Trans>
      )}
    </ConfirmDialog>
  );
}
