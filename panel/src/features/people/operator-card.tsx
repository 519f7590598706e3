import { Trans, useLingui } from '@lingui/react/macro';
import { useSession } from '../../shared/session/session.ts';
import { Card } from '../../shared/ui/card.tsx';
import { CodeBlock } from '../../shared/ui/code-block.tsx';
import type { Person } from './person.ts';

/**
 * What cannot be undone is done on the server, as a dry run first: the commands for this person.
 */
export function OperatorCard({ person }: { person: Person }) {
  const { t } = useLingui();
  const account = useSession().account.id;
  const merged = person.names.find(({ joined_to }) => joined_to !== null);
  return (
    <Card title={<Trans>پاک کردن و جدا کردن</Trans>}>
      <p>
        <Trans>
          این کارها را مهندس شما روی سرور انجام می‌دهد، نخست به شکل آزمایشی؛ هر یک در گزارش تغییرات
          می‌ماند.
        </Trans>
      </p>
      <h3>
        <Trans>پاک کردن این شخص از همه جا</Trans>
      </h3>
      <CodeBlock
        label={t`فرمان پاک کردن`}
        text={`./ravand erase --account ${account} --user-id ${quoted(person.person)} --dry-run`}
      />
      {merged ? (
        <>
          <h3>
            <Trans>جدا کردن شناسه‌ای که به اشتباه ادغام شده است</Trans>
          </h3>
          <CodeBlock
            label={t`فرمان جدا کردن`}
            text={`./ravand person split ${quoted(merged.name)} --account ${account} --dry-run`}
          />
        </>
      ) : null}
    </Card>
  );
}

/** For a shell: ids come from clients. */
function quoted(text: string): string {
  return /^[\w.@-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
