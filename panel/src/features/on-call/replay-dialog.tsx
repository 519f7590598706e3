import { Trans, useLingui } from '@lingui/react/macro';
import { useState } from 'react';
import { useFormat } from '../../shared/format/use-format.ts';
import { OperationDialog } from '../../shared/operations/operation-dialog.tsx';
import { numberOf, type OperationResult } from '../../shared/operations/operation.ts';
import { SelectField } from '../../shared/ui/field.tsx';

const HOUR = 3_600_000;
const SPANS = [1, 6, 24, 168] as const;
const CHANGES = ['jobs'];
const TOPICS = ['events.raw', 'events.normalised'] as const;
/** The newest events are still on their way: a replay has nothing to add there. */
const TO_GO_MS = 60_000;

/** Reads a part of the log again and adds what is missing. */
export function ReplayDialog({ onClose }: { onClose: () => void }) {
  const { t } = useLingui();
  const { count } = useFormat();
  const [topic, setTopic] = useState<(typeof TOPICS)[number]>('events.raw');
  const [hours, setHours] = useState('24');
  // Of when the dialog was opened: the dry run and the replay are about the same events.
  const [opened] = useState(() => Date.now() - TO_GO_MS);
  const at = (ms: number) => new Date(ms).toISOString();
  return (
    <OperationDialog
      title={<Trans>بازپخش تازه</Trans>}
      action={<Trans>بازپخش</Trans>}
      name={topic}
      changes={CHANGES}
      mayGoOn={() => true}
      request={(dry_run) => ({
        kind: 'log.replay',
        input: {
          ...{ topic, dry_run },
          ...{ from: at(opened - Number(hours) * HOUR), to: at(opened) },
        },
      })}
      preview={(result) => <ReplayResult result={result} isDry />}
      done={(result) => <ReplayResult result={result} isDry={false} />}
      onClose={onClose}
    >
      <p>
        <Trans>تنها ردیف‌های جامانده افزوده می‌شوند؛ آنچه هست تغییر نمی‌کند.</Trans>
      </p>
      <SelectField
        label={<Trans>لاگ</Trans>}
        value={topic}
        choices={TOPICS.map((value) => ({ value, label: value }))}
        onChange={setTopic}
      />
      <SelectField
        label={<Trans>بازه</Trans>}
        value={hours}
        choices={SPANS.map((value) => ({
          value: String(value),
          label: t`${count(value)} ساعت گذشته`,
        }))}
        onChange={setHours}
      />
    </OperationDialog>
  );
}

function ReplayResult({ result, isDry }: { result: OperationResult; isDry: boolean }) {
  const { t } = useLingui();
  const { count } = useFormat();
  const counts = (result['counts'] ?? {}) as OperationResult;
  const facts = [
    { name: 'events', label: t`رویداد بررسی شد` },
    { name: 'new', label: isDry ? t`جا مانده است و افزوده می‌شود` : t`افزوده شد` },
    { name: 'stored', label: t`از پیش ذخیره بود` },
    { name: 'would_change', label: t`امروز ردیف دیگری می‌دهد؛ تنها بازسازی آن را تغییر می‌دهد` },
    { name: 'duplicate', label: t`تکراری است` },
    { name: 'expired', label: t`مهلت نگهداری آن گذشته است` },
    { name: 'dead', label: t`ناخواناست` },
  ];
  return (
    <>
      <p>{isDry ? <Trans>بازپخش این را می‌کرد:</Trans> : <Trans>بازپخش انجام شد:</Trans>}</p>
      <ul>
        {facts.map(({ name, label }) => (
          <li key={name}>
            {label}: {count(numberOf(counts, name))}
          </li>
        ))}
      </ul>
    </>
  );
}
