import { Trans, useLingui } from '@lingui/react/macro';
import { Button } from '../../shared/ui/button.tsx';
import { ChoiceGroup } from '../../shared/ui/choice-group.tsx';
import { CheckField } from '../../shared/ui/field.tsx';
import { Icon } from '../../shared/ui/icon.tsx';
import { ConditionFields } from './condition-fields.tsx';
import {
  groupOf,
  kindOf,
  membersOf,
  newNode,
  type GroupNode,
  type Node,
  type NotNode,
} from './definition.ts';
import styles from './segments.module.css';

interface GroupProps {
  group: GroupNode;
  isRoot?: boolean;
  onChange: (group: GroupNode) => void;
}

/** Conditions of which all, or at least one, hold; groups within groups. */
export function GroupEditor({ group, isRoot = false, onChange }: GroupProps) {
  const { t } = useLingui();
  const { of, members } = membersOf(group);
  const change = (next: Node[]) => onChange(groupOf(of, next));
  return (
    <div className={`${styles['group']} ${isRoot ? '' : styles['nested']}`}>
      <ChoiceGroup
        label={isRoot ? <Trans>کسانی که</Trans> : <Trans>زیرگروه</Trans>}
        value={of}
        choices={[
          { value: 'all', label: t`همهٔ این‌ها درست باشد` },
          { value: 'any', label: t`دست‌کم یکی درست باشد` },
        ]}
        onChange={(next) => onChange(groupOf(next, members))}
      />
      <ul className={styles['members']}>
        {members.map((node, at) => (
          <li key={at} className={styles['condition']}>
            <Member
              node={node}
              onChange={(next) => change(members.map((one, index) => (index === at ? next : one)))}
            />
            <Button
              kind="icon"
              aria-label={t`حذف شرط`}
              onClick={() => change(members.filter((_, index) => index !== at))}
            >
              <Icon name="close" />
            </Button>
          </li>
        ))}
      </ul>
      <AddButtons onAdd={(node) => change([...members, node])} />
    </div>
  );
}

function AddButtons({ onAdd }: { onAdd: (node: Node) => void }) {
  const { t } = useLingui();
  const kinds = [
    ['event', t`رویداد`],
    ['trait', t`ویژگی شخص`],
    ['attribute', t`مشخصه`],
    ['engagement', t`تعامل`],
    ['group', t`زیرگروه`],
  ] as const;
  return (
    <div className={styles['add']} role="group" aria-label={t`افزودن شرط`}>
      {kinds.map(([kind, label]) => (
        <Button key={kind} onClick={() => onAdd(newNode(kind))}>
          <Icon name="plus" />
          {label}
        </Button>
      ))}
    </div>
  );
}

function Member({ node, onChange }: { node: Node; onChange: (node: Node) => void }) {
  const kind = kindOf(node);
  const isNot = kind === 'not';
  const inner = isNot ? (node as NotNode).not : node;
  const set = (next: Node) => onChange(isNot ? { not: next } : next);
  return (
    <div className={styles['group']}>
      {kindOf(inner) === 'group' ? (
        <GroupEditor group={inner as GroupNode} onChange={set} />
      ) : kindOf(inner) === 'not' ? (
        <Member node={inner} onChange={set} />
      ) : (
        <ConditionFields node={inner} onChange={set} />
      )}
      {kind === 'event' ? null : (
        <CheckField
          label={<Trans>برعکس: کسانی که این‌گونه نیستند</Trans>}
          isChecked={isNot}
          onChange={(checked) => onChange(checked ? { not: inner } : inner)}
        />
      )}
    </div>
  );
}
