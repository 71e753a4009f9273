import type { ReactNode } from 'react'
import { Link } from '../../shell/link.tsx'
import type { OverlayProps } from './overlay.ts'
import { readMemories } from './read-memories.ts'

export function showMemories({ tool }: OverlayProps): ReactNode {
  const { count, memories } = readMemories(tool.result?.text ?? '')
  if (memories.length === 0) {
    return tool.result && !tool.result.isError ? <p className="text-sm text-soft">Nothing was noted about it.</p> : null
  }
  return (
    <div className="space-y-2 text-sm">
      {count !== null && <p className="font-medium">Counted: {count}</p>}
      <ul aria-label="Memories" className="space-y-2">
        {memories.map(({ id, day, marks, text, isUntrusted }) => (
          <li key={id}>
            <Link href={`/memory/${id}`} className="block whitespace-pre-wrap underline-offset-2 hover:underline">
              {text}
            </Link>
            <span className="text-xs text-soft">
              {[day, marks, isUntrusted && 'from others'].filter(Boolean).join(' · ')}
            </span>
          </li>
        ))}
      </ul>
    </div>
  )
}
