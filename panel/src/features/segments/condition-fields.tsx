import { useLingui } from '@lingui/react/macro';
import { useQuery } from '@tanstack/react-query';
import type { Operator } from '../../../../audiences/conditions/condition.ts';
import { arity, isNumeric, numberIn, OPERATOR_NAMES } from '../../shared/report/condition.ts';
import { useOperatorNames } from '../../shared/report/operator-names.ts';
import { valuesQuery } from '../../shared/report/schema.ts';
import { ComboBox } from '../../shared/ui/combo-box.tsx';
import { SelectField, TextField } from '../../shared/ui/field.tsx';
import type { AttributeNode, EngagementNode, Node, TraitNode, Value } from './definition.ts';
import { EventFields } from './event-fields.tsx';
import { offeredQuery } from './queries.ts';
import { useNames } from './use-names.ts';
import styles from './segments.module.css';

interface Props<Kind> {
  node: Kind;
  onChange: (node: Node) => void;
}

/** The fields of one condition. */
export function ConditionFields({ node, onChange }: Props<Node>) {
  if ('event' in node) return <EventFields node={node} onChange={onChange} />;
  if ('trait' in node) return <TraitFields node={node} onChange={onChange} />;
  if ('attribute' in node) return <AttributeFields node={node} onChange={onChange} />;
  return <EngagementFields node={node as EngagementNode} onChange={onChange} />;
}

function TraitFields({ node, onChange }: Props<TraitNode>) {
  const { t } = useLingui();
  const { data } = useQuery(offeredQuery);
  const suggestions = (data?.schema ?? []).map(({ name }) => ({ value: name }));
  return (
    <div className={styles['fields']}>
      <ComboBox
        label={t`ویژگی شخص`}
        value={node.trait}
        suggestions={suggestions}
        onChange={(trait) => onChange({ trait, op: node.op })}
      />
      <TestFields {...{ node, onChange }} operators={OPERATOR_NAMES} trait={node.trait} />
    </div>
  );
}

function AttributeFields({ node, onChange }: Props<AttributeNode>) {
  const { t } = useLingui();
  const { data } = useQuery(offeredQuery);
  const { attributeName } = useNames();
  const builtin = data?.builtin ?? [];
  const chosen = builtin.find(({ name }) => name === node.attribute);
  const choices = builtin.map(({ name, label }) => ({
    value: name,
    label: attributeName(name, label),
  }));
  return (
    <div className={styles['fields']}>
      <SelectField
        label={t`مشخصه`}
        value={node.attribute}
        choices={choices.length > 0 ? choices : [{ value: node.attribute, label: node.attribute }]}
        onChange={(attribute) => {
          const operators = builtin.find(({ name }) => name === attribute)?.operators ?? [];
          onChange({
            attribute,
            op: operators.includes(node.op) ? node.op : (operators[0] ?? 'eq'),
          });
        }}
      />
      <TestFields
        {...{ node, onChange }}
        operators={chosen?.operators ?? [node.op]}
        isFlag={chosen?.kind === 'boolean'}
        isDate={chosen?.kind === 'date'}
        trait={node.attribute}
      />
    </div>
  );
}

function EngagementFields({ node, onChange }: Props<EngagementNode>) {
  const { t } = useLingui();
  const { data } = useQuery(offeredQuery);
  const { bandName, metricName } = useNames();
  const { metrics = [], bands = [] } = data?.engagement ?? {};
  const choices = [
    ...bands.map((name) => ({ value: name, label: bandName(name) })),
    ...metrics.map(({ name, label }) => ({ value: name, label: metricName(name, label) })),
  ];
  const metric = metrics.find(({ name }) => name === node.engagement);
  return (
    <div className={styles['fields']}>
      <SelectField
        label={t`تعامل`}
        value={node.engagement}
        choices={
          choices.length > 0 ? choices : [{ value: node.engagement, label: node.engagement }]
        }
        onChange={(engagement) =>
          onChange(bands.includes(engagement) ? { engagement } : { engagement, op: 'gte' })
        }
      />
      {metric ? (
        <TestFields
          node={{ ...node, op: node.op ?? 'gte' }}
          onChange={onChange}
          operators={metric.operators}
        />
      ) : null}
    </div>
  );
}

interface TestNode {
  op: Operator;
  value?: Value;
}

interface TestProps {
  node: TestNode;
  operators: readonly Operator[];
  isFlag?: boolean;
  isDate?: boolean;
  /** Whose values are suggested. */
  trait?: string;
  onChange: (node: Node) => void;
}

/** Operator and value. */
function TestFields({ node, operators, isFlag, isDate, trait = '', onChange }: TestProps) {
  const { t } = useLingui();
  const names = useOperatorNames();
  const { op } = node;
  const set = (part: Partial<TestNode>) => {
    const next: Record<string, unknown> = { ...node, ...part };
    if (next['value'] === undefined) delete next['value'];
    onChange(next);
  };
  return (
    <>
      <SelectField
        label={t`مقایسه`}
        value={op}
        choices={operators.map((value) => ({ value, label: names[value] }))}
        onChange={(next) =>
          set(arity(next) === arity(op) ? { op: next } : { op: next, value: undefined as never })
        }
      />
      <ValueFields {...{ node, isFlag, isDate, trait }} onChange={(value) => set({ value })} />
    </>
  );
}

function ValueFields({
  node: { op, value },
  isFlag = false,
  isDate = false,
  trait,
  onChange,
}: Pick<TestProps, 'node'> & {
  isFlag: boolean | undefined;
  isDate: boolean | undefined;
  trait: string;
  onChange: (value: Value) => void;
}) {
  const { t } = useLingui();
  const { data } = useQuery({
    ...valuesQuery({ kind: 'trait', name: trait }, undefined),
    enabled: trait !== '' && !isDate && !isFlag && !isNumeric(op),
  });
  const suggestions = (data?.values ?? []).map((one) => ({ value: one.value }));
  const parse = (text: string): Value => (isDate ? text : (numberIn(text) ?? text));
  if (isFlag && arity(op) === 'one')
    return (
      <SelectField
        label={t`مقدار`}
        value={String(value ?? '')}
        choices={[
          { value: '', label: '–' },
          { value: 'true', label: t`بله` },
          { value: 'false', label: t`خیر` },
        ]}
        onChange={(next) => onChange(next === 'true')}
      />
    );
  switch (arity(op)) {
    case 'none':
      return null;
    case 'two': {
      const [low = '', high = ''] = Array.isArray(value) ? value : [];
      const both = (a: string | number, b: string | number) =>
        onChange([parse(String(a)), parse(String(b))] as (string | number)[]);
      return (
        <>
          <TextField
            label={t`از`}
            dir="ltr"
            type={isDate ? 'date' : 'text'}
            value={String(low)}
            onChange={(event) => both(event.target.value, high === '' ? event.target.value : high)}
          />
          <TextField
            label={t`تا`}
            dir="ltr"
            type={isDate ? 'date' : 'text'}
            value={String(high)}
            onChange={(event) => both(low === '' ? event.target.value : low, event.target.value)}
          />
        </>
      );
    }
    case 'list':
      return (
        <ComboBox
          label={t`مقدارها، جدا با ویرگول`}
          value={Array.isArray(value) ? value.join('، ') : ''}
          suggestions={suggestions}
          onChange={(text) => onChange(text.split(/\s*[،,]\s*/).filter((one) => one !== ''))}
        />
      );
    case 'one':
      return isNumeric(op) ? (
        <TextField
          key={op}
          label={t`مقدار`}
          dir="ltr"
          type={isDate ? 'date' : 'text'}
          inputMode={isDate ? undefined : 'decimal'}
          defaultValue={value === undefined ? '' : String(value)}
          onChange={(event) => {
            if (event.target.value !== '') onChange(parse(event.target.value));
          }}
        />
      ) : (
        <ComboBox
          label={t`مقدار`}
          value={value === undefined ? '' : String(value)}
          suggestions={suggestions}
          onChange={onChange}
        />
      );
  }
}
