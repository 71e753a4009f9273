import type { ReactNode } from 'react'
import { Link } from '../../shell/link.tsx'
import { toolPath } from '../../tools/tools-path.ts'
import type { OverlayProps } from './overlay.ts'
import { readFoundTools } from './read-found-tools.ts'

export function showFoundTools({ tool }: OverlayProps): ReactNode {
  const found = readFoundTools(tool.result?.text ?? '')
  if (found.length === 0) return null
  // Capabilities are named without what a model calls them by.
  const pathOf = (name: string) => toolPath(tool.name === 'lookup_capability' ? `cap_${name}` : name)
  return (
    <ul aria-label="Tools" className="space-y-1.5 text-sm">
      {found.map(({ name, description }) => (
        <li key={name}>
          <Link href={pathOf(name)} className="font-medium underline-offset-2 hover:underline">
            {name}
          </Link>{' '}
          <span className="text-soft">{description}</span>
        </li>
      ))}
    </ul>
  )
}
