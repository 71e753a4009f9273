import { useEffect, useRef, useState } from 'react'
import type { Card } from '../../../src/protocol/card.ts'
import { Button } from './button.tsx'
import { frameHtml } from './frame-html.ts'

/**
 * What a tool shows, in a frame of its own: no script, no network, no rights (SEC-9). Such a frame cannot tell its height, so it has
 * two.
 */
export function CardView({ card, document }: { card: Card; document: string | undefined }) {
  const frame = useRef<HTMLIFrameElement>(null)
  const [isTall, setIsTall] = useState(false)
  const lines = card.text.split('\n').length
  // A row of a table is higher than a line of text; what is left over is less ugly than what is cut.
  const whole = lines * 40 + 80
  const height = isTall ? Math.max(360, whole) : Math.min(360, whole)

  useEffect(() => {
    // Not as an attribute of the element: what React sets there is text, which the browser takes for no document.
    if (frame.current && document !== undefined) frame.current.srcdoc = frameHtml(document)
  }, [document])

  return (
    <figure className="overflow-hidden rounded-xl border border-line">
      {document !== undefined && (
        <iframe
          ref={frame}
          title={card.title || 'Card'}
          sandbox=""
          referrerPolicy="no-referrer"
          className="w-full bg-white"
          style={{ height }}
        />
      )}
      <figcaption className="flex items-center justify-between border-t border-line px-3 text-xs text-soft">
        <details className="min-w-0 flex-1">
          <summary className="py-1">As text</summary>
          <pre className="whitespace-pre-wrap pb-2 font-mono">{card.text}</pre>
        </details>
        <Button size="small" kind="quiet" onClick={() => setIsTall(!isTall)}>
          {isTall ? 'Smaller' : 'Larger'}
        </Button>
      </figcaption>
    </figure>
  )
}
