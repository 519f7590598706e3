import { Trans } from '@lingui/react/macro';
import { useState } from 'react';
import { useFormat } from '../../shared/format/use-format.ts';
import { OperationDialog } from '../../shared/operations/operation-dialog.tsx';
import { numberOf, type OperationResult } from '../../shared/operations/operation.ts';
import { TextField } from '../../shared/ui/field.tsx';
import type { Cause } from './dead-letters-card.tsx';

export type DeadLettersAction = 'redrive' | 'discard' | 'restore';

const CHANGES = ['on-call'];

interface Props {
  cause: Cause;
  action: DeadLettersAction;
  onClose: () => void;
}

/** Decides about the dead letters of a cause. */
export function DeadLettersDialog({ cause, action, onClose }: Props) {
  const [reason, setReason] = useState('');
  const { group } = cause;
  const common = {
    name: group,
    mayGoOn: (result: OperationResult) =>
      ['dead_letters', 'replayed', 'interrupted'].some((name) => numberOf(result, name) > 0),
    changes: CHANGES,
    onClose,
  };
  switch (action) {
    case 'redrive':
      return (
        <OperationDialog
          {...common}
          title={<Trans>پردازش دوباره</Trans>}
          action={<Trans>پردازش دوباره</Trans>}
          request={(dry_run) => ({ kind: 'dead_letters.redrive', input: { group, dry_run } })}
          preview={(result) => <RedriveResult result={result} isDry />}
          done={(result) => <RedriveResult result={result} isDry={false} />}
        >
          <Sentence cause={cause} />
          <p>
            <Trans>
              نخست علت را برطرف کنید؛ وگرنه همین رویدادها باز ناخوانا می‌مانند. هیچ رویدادی دو بار
              شمرده نمی‌شود.
            </Trans>
          </p>
        </OperationDialog>
      );
    case 'discard':
      return (
        <OperationDialog
          {...common}
          title={<Trans>کنار گذاشتن</Trans>}
          action={<Trans>کنار گذاشتن</Trans>}
          request={
            reason.trim() === ''
              ? undefined
              : (dry_run) => ({
                  kind: 'dead_letters.discard',
                  input: { group, reason: reason.trim(), dry_run },
                })
          }
          preview={(result) => <DiscardResult result={result} />}
          done={() => (
            <Trans>کنار گذاشته شدند. «بازگرداندن» آن‌ها را دوباره در انتظار می‌گذارد.</Trans>
          )}
        >
          <Sentence cause={cause} />
          <TextField
            label={<Trans>دلیل</Trans>}
            hint={<Trans>در گزارش تغییرات می‌ماند؛ نام و نشانی اشخاص را ننویسید.</Trans>}
            required
            maxLength={500}
            value={reason}
            onChange={(event) => setReason(event.target.value)}
          />
        </OperationDialog>
      );
    case 'restore':
      return (
        <OperationDialog
          {...common}
          title={<Trans>بازگرداندن</Trans>}
          action={<Trans>بازگرداندن</Trans>}
          request={(dry_run) => ({ kind: 'dead_letters.restore', input: { group, dry_run } })}
          preview={(result) => <RestoreResult result={result} />}
          done={() => <Trans>دوباره در انتظار تصمیم‌اند.</Trans>}
        >
          <Sentence cause={cause} />
        </OperationDialog>
      );
  }
}

function Sentence({ cause }: { cause: Cause }) {
  return (
    <p>
      <Trans>
        علت: <bdi>{cause.reason}</bdi>
      </Trans>
    </p>
  );
}

function RedriveResult({ result, isDry }: { result: OperationResult; isDry: boolean }) {
  const { count } = useFormat();
  const records = numberOf(result, 'dead_letters');
  const unready = numberOf(result, 'unready');
  const uncertain = numberOf(result, 'uncertain');
  const interrupted = numberOf(result, 'interrupted');
  const events = numberOf(result, 'events');
  return (
    <>
      <p>
        {isDry ? (
          <Trans>
            {count(records)} پیام با {count(events)} رویداد دوباره پردازش می‌شوند.
          </Trans>
        ) : (
          <Trans>
            {count(records)} پیام با {count(events)} رویداد به پردازش بازگشتند.
          </Trans>
        )}
      </p>
      {interrupted > 0 ? (
        <p>
          <Trans>
            {count(interrupted)} پیام از پردازشی نیمه‌کاره مانده است؛ سرنوشت آن‌ها هم روشن می‌شود.
          </Trans>
        </p>
      ) : null}
      {unready > 0 ? (
        <p>
          <Trans>{count(unready)} پیام باز هم ناخواناست و همان‌جا می‌ماند.</Trans>
        </p>
      ) : null}
      {uncertain > 0 ? (
        <p>
          <Trans>
            سرنوشت {count(uncertain)} پیام روشن نیست؛ پردازش دوباره را بار دیگر اجرا کنید.
          </Trans>
        </p>
      ) : null}
    </>
  );
}

function DiscardResult({ result }: { result: OperationResult }) {
  const { count } = useFormat();
  const records = numberOf(result, 'dead_letters');
  const events = numberOf(result, 'events');
  return (
    <p>
      <Trans>
        {count(records)} پیام با {count(events)} رویداد کنار گذاشته می‌شوند.
      </Trans>
    </p>
  );
}

function RestoreResult({ result }: { result: OperationResult }) {
  const { count } = useFormat();
  const records = numberOf(result, 'dead_letters');
  const { note } = result;
  return (
    <p>
      <Trans>
        {count(records)} پیام بازمی‌گردند که برای «<bdi>{typeof note === 'string' ? note : ''}</bdi>
        » کنار گذاشته شده بودند.
      </Trans>
    </p>
  );
}
