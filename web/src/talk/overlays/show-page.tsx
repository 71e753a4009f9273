import type { ReactNode } from 'react'
import { OutsideLink } from '../../components/markdown.tsx'
import type { OverlayProps } from './overlay.ts'
import { readPage } from './read-page.ts'

const shownCharacters = 600

export function showPage({ tool }: OverlayProps): ReactNode {
  const page = readPage(tool.result?.text ?? '')
  if (!page) return null
  const { title, url, text } = page
  return (
    <div className="space-y-1 text-sm">
      <p className="prose font-medium">
        <OutsideLink href={url} text={title} />
      </p>
      <p className="whitespace-pre-wrap text-soft">
        {text.length > shownCharacters ? `${text.slice(0, shownCharacters).trimEnd()} …` : text}
      </p>
    </div>
  )
}
