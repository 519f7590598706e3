import { Trans, useLingui } from '@lingui/react/macro';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { ProjectionName } from '../../../../schemas/topology.ts';
import { useFormat } from '../../shared/format/use-format.ts';
import { isOpen, useOperation, type OperationResult } from '../../shared/operations/operation.ts';
import { Button } from '../../shared/ui/button.tsx';
import { Dialog } from '../../shared/ui/dialog.tsx';
import { SelectField, TextField } from '../../shared/ui/field.tsx';
import { Banner, Loading, ProblemText } from '../../shared/ui/states.tsx';

const PROJECTIONS = [
  ...(['events', 'profiles', 'identities', 'catalogue', 'quality', 'messages'] as const),
] as const satisfies readonly ProjectionName[];

type Step = 'compare' | 'swap' | 'undo' | 'cancel';

/** Fills a table beside the live one; only an exchange changes anything, and can be undone. */
export function RebuildDialog({ onClose }: { onClose: () => void }) {
  const { t } = useLingui();
  const queryClient = useQueryClient();
  const [projection, setProjection] = useState<(typeof PROJECTIONS)[number]>('events');
  const [step, setStep] = useState<Step>('compare');
  const [typed, setTyped] = useState('');
  const { start, operation, isStarted, error } = useOperation();
  const hasEnded = operation !== undefined && !isOpen(operation);
  useEffect(() => {
    if (hasEnded) void queryClient.invalidateQueries({ queryKey: ['jobs'] });
  }, [hasEnded, queryClient]);
  const isDangerous = step !== 'compare';
  return (
    <Dialog
      title={<Trans>بازسازی تازه</Trans>}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>
            <Trans>بستن</Trans>
          </Button>
          <Button
            kind={isDangerous ? 'danger' : 'primary'}
            isBusy={isStarted && !hasEnded}
            disabled={isDangerous && typed.trim() !== projection}
            onClick={() => start({ kind: 'projection.rebuild', input: { projection, step } })}
          >
            <Trans>آغاز</Trans>
          </Button>
        </>
      }
    >
      <SelectField
        label={<Trans>جدول</Trans>}
        value={projection}
        choices={PROJECTIONS.map((value) => ({ value, label: value }))}
        onChange={setProjection}
      />
      <SelectField
        label={<Trans>کار</Trans>}
        value={step}
        choices={[
          { value: 'compare', label: t`ساختن و سنجیدن: جدول زنده تغییر نمی‌کند` },
          { value: 'swap', label: t`جایگزین کردن جدول زنده، اگر یکسان باشند` },
          { value: 'undo', label: t`برگرداندن آخرین جایگزینی` },
          { value: 'cancel', label: t`لغو و پاک کردن جدول نیمه‌ساخته` },
        ]}
        onChange={setStep}
      />
      {isDangerous ? (
        <TextField
          label={
            <Trans>
              برای تأیید، «<bdi>{projection}</bdi>» را بنویسید
            </Trans>
          }
          dir="auto"
          autoComplete="off"
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
        />
      ) : null}
      {error ? (
        <div role="alert">
          <Banner tone="danger">
            <ProblemText error={error} />
          </Banner>
        </div>
      ) : null}
      {isStarted && !hasEnded ? (
        <>
          <p>
            <Trans>در حال انجام است. این پنجره را می‌توانید ببندید؛ کار ادامه می‌یابد.</Trans>
          </p>
          <Loading lines={2} />
        </>
      ) : null}
      {hasEnded ? (
        <div role="status">
          {operation.state === 'succeeded' ? (
            <RebuildResult result={operation.result ?? {}} />
          ) : (
            <Banner tone="danger">
              {operation.error === '' ? (
                <Trans>متوقف شد. همین کار آن را از همان‌جا ادامه می‌دهد.</Trans>
              ) : (
                <bdi>{operation.error}</bdi>
              )}
            </Banner>
          )}
        </div>
      ) : null}
    </Dialog>
  );
}

function RebuildResult({ result }: { result: OperationResult }) {
  const { count } = useFormat();
  const { state, rows, comparison, refused } = result;
  const differing = (comparison as { differing?: unknown } | null | undefined)?.differing;
  return (
    <>
      <p>
        <Trans>
          وضعیت: <bdi>{String(state)}</bdi>؛ {count(typeof rows === 'number' ? rows : 0)} ردیف ساخته
          شد.
        </Trans>
      </p>
      {typeof differing === 'number' ? (
        <p>
          {differing === 0 ? (
            <Trans>با جدول زنده یکسان است.</Trans>
          ) : (
            <Trans>{count(differing)} تفاوت با جدول زنده دارد.</Trans>
          )}
        </p>
      ) : null}
      {typeof refused === 'string' ? (
        <p>
          <Trans>
            جایگزین نشد: <bdi>{refused}</bdi>
          </Trans>
        </p>
      ) : null}
    </>
  );
}
