import type { ReactNode } from 'react'
import { OutsideLink } from '../../components/markdown.tsx'
import type { OverlayProps } from './overlay.ts'
import { readSearchHits } from './read-search-hits.ts'

export function showSearch({ tool }: OverlayProps): ReactNode {
  const hits = readSearchHits(tool.result?.text ?? '')
  if (hits.length === 0) return null
  return (
    <ol aria-label="What was found" className="space-y-3 text-sm">
      {hits.map(({ title, url, snippet }) => (
        <li key={url}>
          <p className="prose font-medium">
            <OutsideLink href={url} text={title} />
          </p>
          <p className="text-soft">{snippet}</p>
        </li>
      ))}
    </ol>
  )
}
