import { Trans, useLingui } from '@lingui/react/macro';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type {
  Frequency,
  OnsiteField,
  OnsiteKind,
  UrlOperator,
} from '../../../../events/channels/onsite/definition.ts';
import { api } from '../../shared/api/request.ts';
import { Button } from '../../shared/ui/button.tsx';
import { Dialog } from '../../shared/ui/dialog.tsx';
import { CheckField, SelectField, TextArea, TextField } from '../../shared/ui/field.tsx';
import { Form } from '../../shared/ui/form.tsx';
import { Icon } from '../../shared/ui/icon.tsx';
import { FREQUENCIES, KINDS, type OnsiteContent } from './onsite.ts';
import { useFieldTypeName, useFrequencyName, useKindName, useUrlOperatorName } from './names.ts';
import { OnsitePreview } from './onsite-preview.tsx';
import styles from './onsite.module.css';

interface ListedSegment {
  id: number;
  name: string;
  definition?: unknown;
}

const OPERATORS: readonly UrlOperator[] = ['contains', 'prefix', 'equals'];
const TYPES: readonly OnsiteField['type'][] = ['text', 'number', 'rating', 'choice'];
const EVERYBODY = '';

/** What visitors will see, to whom, where and how often; shown as soon as it is made. */
export function NewOnsite({ onClose }: { onClose: () => void }) {
  const { t } = useLingui();
  const queryClient = useQueryClient();
  const kindName = useKindName();
  const frequencyName = useFrequencyName();
  const operatorName = useUrlOperatorName();
  const [name, setName] = useState('');
  const [kind, setKind] = useState<OnsiteKind>('popup');
  const [title, setTitle] = useState('');
  const [text, setText] = useState('');
  const [label, setLabel] = useState('');
  const [target, setTarget] = useState('');
  const [frequency, setFrequency] = useState<Frequency>('once');
  const [operator, setOperator] = useState<UrlOperator>('contains');
  const [page, setPage] = useState('');
  const [segmentId, setSegmentId] = useState(EVERYBODY);
  const [fields, setFields] = useState<readonly OnsiteField[]>([]);
  const segments = useQuery({
    queryKey: ['segments'],
    queryFn: ({ signal }) => api<{ segments: ListedSegment[] }>('/v1/segments', { signal }),
  });
  const content: OnsiteContent = {
    ...(title.trim() === '' ? {} : { title: title.trim() }),
    ...(text.trim() === '' ? {} : { text: text.trim() }),
    ...(label.trim() === '' ? {} : { button: { text: label.trim(), url: target.trim() } }),
  };
  const asks = kind === 'survey' || kind === 'form';
  const make = useMutation({
    mutationFn: async () => {
      const isForAll = segmentId === EVERYBODY;
      const audience = isForAll
        ? undefined
        : (await api<ListedSegment>(`/v1/segments/${Number(segmentId)}`)).definition;
      // Never everybody in place of a segment.
      if (!isForAll && audience === undefined) throw new Error('the segment has no definition');
      return await api('/v1/onsite-campaigns', {
        method: 'POST',
        body: {
          ...{ name: name.trim(), kind, content, frequency, fields: asks ? fields : [] },
          targeting: {
            ...(page.trim() === '' ? {} : { url: [{ op: operator, value: page.trim() }] }),
            ...(audience === undefined ? {} : { audience }),
          },
        },
      });
    },
    onSuccess: async () => {
      await queryClient.invalidateQueries({ queryKey: ['onsite'] });
      onClose();
    },
  });
  return (
    <Dialog title={<Trans>کمپین تازهٔ درون سایت</Trans>} onClose={onClose}>
      <Form
        action={<Trans>آغاز</Trans>}
        isBusy={make.isPending}
        error={make.error}
        onSubmit={() => make.mutate()}
        onCancel={onClose}
      >
        <TextField
          label={<Trans>نام کمپین</Trans>}
          hint={<Trans>تنها اعضای حساب آن را می‌بینند.</Trans>}
          required
          maxLength={200}
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
        <SelectField
          label={<Trans>گونه</Trans>}
          value={kind}
          choices={KINDS.map((value) => ({ value, label: kindName(value) }))}
          onChange={setKind}
        />
        <TextField
          label={<Trans>عنوان</Trans>}
          required
          dir="auto"
          value={title}
          onChange={(event) => setTitle(event.target.value)}
        />
        <TextArea label={<Trans>متن</Trans>} rows={3} value={text} onChange={setText} />
        {asks ? (
          <Fields fields={fields} onChange={setFields} />
        ) : (
          <>
            <TextField
              label={<Trans>متن دکمه</Trans>}
              hint={<Trans>خالی: بی‌دکمه.</Trans>}
              dir="auto"
              value={label}
              onChange={(event) => setLabel(event.target.value)}
            />
            {label.trim() === '' ? null : (
              <TextField
                label={<Trans>نشانی دکمه</Trans>}
                type="url"
                dir="ltr"
                required
                value={target}
                onChange={(event) => setTarget(event.target.value)}
              />
            )}
          </>
        )}
        <OnsitePreview kind={kind} content={content} fields={asks ? fields : []} />
        <SelectField
          label={<Trans>چند بار</Trans>}
          value={frequency}
          choices={FREQUENCIES.map((value) => ({ value, label: frequencyName(value) }))}
          onChange={setFrequency}
        />
        <SelectField
          label={<Trans>چه کسی</Trans>}
          value={segmentId}
          choices={[
            { value: EVERYBODY, label: t`همه` },
            ...(segments.data?.segments ?? []).map((one) => ({
              value: String(one.id),
              label: one.name,
            })),
          ]}
          onChange={setSegmentId}
        />
        <SelectField
          label={<Trans>در کدام صفحه‌ها</Trans>}
          value={operator}
          choices={OPERATORS.map((value) => ({ value, label: operatorName(value) }))}
          onChange={setOperator}
        />
        <TextField
          label={<Trans>نشانی صفحه یا بخشی از آن</Trans>}
          hint={<Trans>خالی: همهٔ صفحه‌ها.</Trans>}
          dir="ltr"
          value={page}
          onChange={(event) => setPage(event.target.value)}
        />
      </Form>
    </Dialog>
  );
}

function Fields({
  fields,
  onChange,
}: {
  fields: readonly OnsiteField[];
  onChange: (fields: readonly OnsiteField[]) => void;
}) {
  const { t } = useLingui();
  const typeName = useFieldTypeName();
  const replace = (at: number, field: OnsiteField) =>
    onChange(fields.map((one, index) => (index === at ? field : one)));
  const set = (at: number, change: Partial<OnsiteField>) => {
    const field = fields[at];
    if (field) replace(at, { ...field, ...change });
  };
  return (
    <fieldset>
      <legend>
        <Trans>پرسش‌ها</Trans>
      </legend>
      {fields.map((field, at) => (
        <div key={at}>
          <div className={styles['row']}>
            <TextField
              label={<Trans>نام پرسش</Trans>}
              required
              dir="auto"
              value={field.name}
              onChange={(event) => set(at, { name: event.target.value })}
            />
            <SelectField
              label={<Trans>گونهٔ پاسخ</Trans>}
              value={field.type}
              choices={TYPES.map((value) => ({ value, label: typeName(value) }))}
              onChange={(type) => replace(at, ofType(field, type))}
            />
            <Button
              kind="icon"
              aria-label={t`حذف پرسش`}
              onClick={() => onChange(fields.filter((_, index) => index !== at))}
            >
              <Icon name="close" />
            </Button>
          </div>
          {field.type === 'choice' ? (
            <TextField
              label={<Trans>گزینه‌ها، جدا با ویرگول</Trans>}
              required
              dir="auto"
              defaultValue={field.options?.join('، ') ?? ''}
              onChange={(event) =>
                set(at, {
                  options: event.target.value.split(/\s*[،,]\s*/).filter((one) => one !== ''),
                })
              }
            />
          ) : null}
          <CheckField
            label={<Trans>پاسخ لازم است</Trans>}
            isChecked={field.required}
            onChange={(required) => set(at, { required })}
          />
        </div>
      ))}
      <Button
        kind="quiet"
        onClick={() => onChange([...fields, { name: '', type: 'text', required: false }])}
      >
        <Icon name="plus" />
        <Trans>پرسش تازه</Trans>
      </Button>
    </fieldset>
  );
}

/** Only a choice has options. */
function ofType({ name, required, options }: OnsiteField, type: OnsiteField['type']): OnsiteField {
  return { name, type, required, ...(type === 'choice' ? { options: options ?? [] } : {}) };
}
