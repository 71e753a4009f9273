import type { ReactNode } from 'react'
import { Markdown } from '../../components/markdown.tsx'
import { inputText } from './input-text.ts'
import type { OverlayProps } from './overlay.ts'

/** What was thought stands in the call; nothing came of it. */
export function showReason({ tool }: OverlayProps): ReactNode {
  const thought = inputText(tool.input, 'thought')
  if (thought === '') return null
  return (
    <div className="text-sm">
      <Markdown text={thought} />
    </div>
  )
}
