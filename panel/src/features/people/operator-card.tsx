import { Trans } from '@lingui/react/macro';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useFormat } from '../../shared/format/use-format.ts';
import { OperationDialog } from '../../shared/operations/operation-dialog.tsx';
import {
  numberOf,
  type OperationRequest,
  type OperationResult,
} from '../../shared/operations/operation.ts';
import { Button } from '../../shared/ui/button.tsx';
import { Card } from '../../shared/ui/card.tsx';
import type { Person } from './person.ts';
import styles from './people.module.css';

interface Pair {
  name: string;
  from: string;
}

type Open = { kind: 'erase' } | { kind: 'split' | 'rejoin'; pair: Pair };

const CHANGES = ['person', 'timeline', 'people'];
const NOTHING: readonly string[] = [];

/** What cannot be undone, and what a wrong merge needs: a dry run first, then the typed name. */
export function OperatorCard({ person }: { person: Person }) {
  const queryClient = useQueryClient();
  const [open, setOpen] = useState<Open>();
  // The list of ids no longer has it: only here it can be undone at once.
  const [parted, setParted] = useState<Pair>();
  const pairs = person.names.flatMap(({ name, joined_to }) =>
    joined_to === null ? [] : [{ name, from: joined_to }],
  );
  const close = () => {
    if (open?.kind === 'split') setParted(open.pair);
    if (open?.kind === 'rejoin') setParted(undefined);
    if (open?.kind === 'erase')
      for (const key of CHANGES) void queryClient.invalidateQueries({ queryKey: [key] });
    setOpen(undefined);
  };
  return (
    <Card
      title={<Trans>پاک کردن و جدا کردن</Trans>}
      note={<Trans>هر کار در گزارش تغییرات می‌ماند</Trans>}
    >
      <ul className={styles['merges']}>
        {pairs.map((pair) => (
          <li key={pair.name}>
            <Trans>
              <bdi>{pair.name}</bdi> با <bdi>{pair.from}</bdi> ادغام شده است.
            </Trans>{' '}
            <Button kind="quiet" onClick={() => setOpen({ kind: 'split', pair })}>
              <Trans>جدا کردن</Trans>
            </Button>
          </li>
        ))}
        {parted && !pairs.some(({ name }) => name === parted.name) ? (
          <li>
            <Trans>
              <bdi>{parted.name}</bdi> از <bdi>{parted.from}</bdi> جدا شد.
            </Trans>{' '}
            <Button kind="quiet" onClick={() => setOpen({ kind: 'rejoin', pair: parted })}>
              <Trans>ادغام دوباره</Trans>
            </Button>
          </li>
        ) : null}
      </ul>
      <div>
        <Button kind="danger" onClick={() => setOpen({ kind: 'erase' })}>
          <Trans>پاک کردن این شخص از همه جا</Trans>
        </Button>
      </div>
      {open?.kind === 'erase' ? <EraseDialog person={person} onClose={close} /> : null}
      {open?.kind === 'split' ? <SplitDialog pair={open.pair} onClose={close} /> : null}
      {open?.kind === 'rejoin' ? <RejoinDialog pair={open.pair} onClose={close} /> : null}
    </Card>
  );
}

function EraseDialog({ person: { person }, onClose }: { person: Person; onClose: () => void }) {
  return (
    <OperationDialog
      title={<Trans>پاک کردن این شخص از همه جا</Trans>}
      action={<Trans>پاک کردن</Trans>}
      name={person}
      // Without the person the page has no dialog: it is read again when the dialog is closed.
      changes={NOTHING}
      request={(dry_run): OperationRequest => ({
        kind: 'person.erase',
        input: { user_id: person, dry_run },
      })}
      mayGoOn={({ known }) => known === true}
      preview={(result) => <ErasePreview result={result} />}
      done={() => (
        <Trans>
          پاک شد. آنچه در لاگ مانده است با بازنویسی بعدی لاگ پاک می‌شود؛ مهندس سامانه آن را اجرا
          می‌کند.
        </Trans>
      )}
      onClose={onClose}
    >
      <p>
        <Trans>
          رویدادها، پروفایل، شناسه‌ها، نشانی‌ها و پیام‌های این شخص پاک می‌شوند. این کار بازگشت ندارد
          و چند دقیقه زمان می‌برد.
        </Trans>
      </p>
    </OperationDialog>
  );
}

function ErasePreview({ result }: { result: OperationResult }) {
  const { count } = useFormat();
  const beside = numberOf(result, 'beside');
  if (result['known'] !== true)
    return (
      <p>
        <Trans>
          از این شخص چیزی ذخیره نشده است. اگر رویدادی همین حالا رسیده است، اندکی بعد دوباره تلاش
          کنید.
        </Trans>
      </p>
    );
  return (
    <>
      <p>
        <Trans>
          {count(numberOf(result, 'names'))} شناسه و {count(numberOf(result, 'events'))} رویداد پاک
          می‌شوند.
        </Trans>
      </p>
      {beside > 0 ? (
        <p>
          <Trans>
            {count(beside)} شناسه که از او جدا شده‌اند پاک نمی‌شوند؛ اگر از آنِ همین شخص‌اند، هر یک
            را جدا پاک کنید.
          </Trans>
        </p>
      ) : null}
    </>
  );
}

function SplitDialog({ pair, onClose }: { pair: Pair; onClose: () => void }) {
  return (
    <OperationDialog
      title={<Trans>جدا کردن</Trans>}
      action={<Trans>جدا کردن</Trans>}
      name={pair.name}
      changes={CHANGES}
      request={(dry_run): OperationRequest => ({
        kind: 'person.split',
        input: { ...pair, dry_run },
      })}
      mayGoOn={() => true}
      preview={(result) => <MovedPreview result={result} />}
      done={() => <Trans>جدا شدند. گزارش‌ها از همین حالا دو شخص می‌بینند.</Trans>}
      onClose={onClose}
    >
      <p>
        <Trans>
          <bdi>{pair.name}</bdi> و <bdi>{pair.from}</bdi> دو شخص می‌شوند و دیگر با هم ادغام
          نمی‌شوند. رویدادها تغییر نمی‌کنند و این کار بازگشت دارد.
        </Trans>
      </p>
    </OperationDialog>
  );
}

function RejoinDialog({ pair, onClose }: { pair: Pair; onClose: () => void }) {
  return (
    <OperationDialog
      title={<Trans>ادغام دوباره</Trans>}
      action={<Trans>ادغام دوباره</Trans>}
      name={pair.name}
      changes={CHANGES}
      request={(dry_run): OperationRequest => ({
        kind: 'person.rejoin',
        input: { ...pair, dry_run },
      })}
      mayGoOn={() => true}
      preview={(result) => <MovedPreview result={result} />}
      done={() => <Trans>دوباره یک شخص‌اند.</Trans>}
      onClose={onClose}
    />
  );
}

function MovedPreview({ result }: { result: OperationResult }) {
  const { count } = useFormat();
  const moved = numberOf(result, 'moved');
  return (
    <p>
      {result['one_person'] === true ? (
        <Trans>{count(moved)} شناسه جابه‌جا می‌شود؛ این دو یک شخص‌اند.</Trans>
      ) : (
        <Trans>{count(moved)} شناسه جابه‌جا می‌شود؛ این دو دو شخص می‌شوند.</Trans>
      )}
    </p>
  );
}
