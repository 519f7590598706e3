import { Trans, useLingui } from '@lingui/react/macro';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api } from '../api/request.ts';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Disclosure } from '../ui/disclosure.tsx';
import { TextField } from '../ui/field.tsx';
import { Icon } from '../ui/icon.tsx';
import { ProblemText } from '../ui/states.tsx';
import { csvText, saveFile, type CsvTable } from './csv.ts';
import styles from './report-actions.module.css';

interface Props {
  kind: 'funnel' | 'retention' | 'trends' | 'paths';
  /** The state of the page, as its URL has it. */
  search: Record<string, unknown>;
  /** Undefined: there is no result. */
  csv: (() => CsvTable) | undefined;
  /** Id of the element that a picture shows. */
  picture: string;
}

/** What can be done with a report: save it, copy its link, take its numbers or its picture. */
export function ReportActions({ kind, search, csv, picture }: Props) {
  const [isSaving, setSaving] = useState(false);
  const [isCopied, setCopied] = useState(false);
  const savePicture = useMutation({
    mutationFn: async () => {
      const element = document.getElementById(picture);
      if (!element) throw new Error(`the page has no element ${picture}`);
      const { pictureOf } = await import('./picture.ts');
      saveFile(`${kind}.png`, await pictureOf(element));
    },
  });
  const copy = async () => {
    await navigator.clipboard.writeText(location.href);
    setCopied(true);
  };
  return (
    <>
      <Button onClick={() => setSaving(true)}>
        <Icon name="bookmark" />
        <Trans>ذخیره</Trans>
      </Button>
      <Disclosure
        content={
          <>
            <Trans>خروجی و پیوند</Trans>
            <Icon name="down" />
          </>
        }
      >
        {(close) => (
          <>
            <Item onClick={() => void copy()}>
              {isCopied ? <Trans>پیوند رونوشت شد</Trans> : <Trans>رونوشت پیوند</Trans>}
            </Item>
            <Item
              isDisabled={!csv}
              onClick={() => {
                if (csv) saveFile(`${kind}.csv`, new Blob([csvText(csv())], { type: 'text/csv' }));
                close();
              }}
            >
              <Trans>جدول CSV</Trans>
            </Item>
            <Item isDisabled={!csv || savePicture.isPending} onClick={() => savePicture.mutate()}>
              {savePicture.isPending ? (
                <Trans>در حال ساختن تصویر…</Trans>
              ) : (
                <Trans>تصویر PNG</Trans>
              )}
            </Item>
            {savePicture.error ? (
              <p role="alert">
                <Trans>تصویر ساخته نشد؛ دوباره تلاش کنید.</Trans>
              </p>
            ) : null}
          </>
        )}
      </Disclosure>
      {isSaving ? <SaveDialog {...{ kind, search }} onClose={() => setSaving(false)} /> : null}
    </>
  );
}

function Item({
  onClick,
  isDisabled = false,
  children,
}: {
  onClick: () => void;
  isDisabled?: boolean;
  children: React.ReactNode;
}) {
  return (
    <button type="button" className={styles['item']} disabled={isDisabled} onClick={onClick}>
      {children}
    </button>
  );
}

function SaveDialog({
  kind,
  search,
  onClose,
}: Pick<Props, 'kind' | 'search'> & { onClose: () => void }) {
  const { t } = useLingui();
  const queryClient = useQueryClient();
  const [name, setName] = useState('');
  const save = useMutation({
    mutationFn: () =>
      api('/v1/saved-reports', {
        method: 'POST',
        body: { name: name.trim(), kind, definition: search },
      }),
    onSuccess: async () => {
      await queryClient.invalidateQueries({ queryKey: ['saved-reports'] });
      onClose();
    },
  });
  return (
    <Dialog title={<Trans>ذخیرهٔ گزارش</Trans>} onClose={onClose}>
      <form
        className={styles['form']}
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate();
        }}
      >
        <TextField
          label={<Trans>نام گزارش</Trans>}
          hint={<Trans>همهٔ اعضای حساب آن را در «گزارش‌های ذخیره‌شده» می‌بینند.</Trans>}
          value={name}
          required
          maxLength={200}
          placeholder={t`مثلاً: از دیدن کالا تا خرید`}
          onChange={(event) => setName(event.target.value)}
        />
        {save.error ? (
          <p role="alert" className={styles['problem']}>
            <ProblemText error={save.error} />
          </p>
        ) : null}
        <div className={styles['buttons']}>
          <Button onClick={onClose}>
            <Trans>انصراف</Trans>
          </Button>
          <Button
            kind="primary"
            type="submit"
            isBusy={save.isPending}
            disabled={name.trim() === ''}
          >
            <Trans>ذخیره</Trans>
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
