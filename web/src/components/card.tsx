import { useEffect, useRef, useState } from 'react'
import type { Card } from '../../../src/protocol/messages.ts'
import { useAnswer } from '../api/call.ts'
import { t } from '../strings/strings.ts'
import { Button } from './controls.tsx'

interface HtmlPolicies {
  createPolicy(name: string, rules: { createHTML(text: string): string }): { createHTML(text: string): string }
}

const { trustedTypes } = globalThis as { trustedTypes?: HtmlPolicies }

/** The one policy that the page's own policy of content lets in, and only for a frame that has no rights at all. */
const policy = trustedTypes?.createPolicy('familiar-card', { createHTML: (text) => text })

/** The document of a card, as the browser takes it for `srcdoc` of a frame. For nothing else: it is HTML. */
const frameHtml = (document: string): string => policy?.createHTML(document) ?? document

/**
 * The card of a tool in a sandboxed frame: no script, no network, no rights (SEC-9). Such a frame cannot report its height, so it has
 * two.
 */
export function CardView({ card, document }: { card: Card; document: string | undefined }) {
  const frame = useRef<HTMLIFrameElement>(null)
  const [isTall, setIsTall] = useState(false)
  const lines = card.text.split('\n').length
  // About the height of a table row for each line, and room for the heading.
  const whole = lines * 32 + 48
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
          title={card.title || t.common.card}
          sandbox=""
          referrerPolicy="no-referrer"
          className="w-full bg-white"
          style={{ height }}
        />
      )}
      <figcaption className="flex items-center justify-between border-t border-line px-3 text-xs text-soft">
        <details className="min-w-0 flex-1">
          <summary className="py-1">{t.common.showAsText}</summary>
          <pre className="whitespace-pre-wrap pb-2 font-mono">{card.text}</pre>
        </details>
        <Button size="small" kind="quiet" onClick={() => setIsTall(!isTall)}>
          {isTall ? t.common.smaller : t.common.larger}
        </Button>
      </figcaption>
    </figure>
  )
}

/** The card of a call in a conversation. */
export function CardFrame({ card, callId, sessionId }: { card: Card; callId: string; sessionId: string }) {
  const { data } = useAnswer('page.card', { id: sessionId, call: callId })
  return <CardView card={card} document={data?.document} />
}
