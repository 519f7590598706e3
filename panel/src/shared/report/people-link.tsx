import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useMay } from '../session/session.ts';

/** A number that leads to the people behind it, for members who may see people. */
export function PeopleLink({ definition, label }: { definition: object; label: ReactNode }) {
  const may = useMay();
  if (!may('profile.read')) return label;
  return (
    <Link to="/people" search={{ of: definition } as never}>
      {label}
    </Link>
  );
}
