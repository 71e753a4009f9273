import { useEffect, useState } from 'react'
import type { ApprovalScope } from '../../../src/protocol/permissions.ts'
import { call, useAnswer } from '../api/call.ts'
import { Button } from '../components/controls.tsx'
import { useToasts } from '../components/feedback.tsx'
import { Icon } from '../components/icon.tsx'
import { t } from '../strings/strings.ts'
import { focusComposer } from './composer.tsx'
import type { ToolPart } from './conversation.ts'

type Asked = NonNullable<ToolPart['approval']>

const pollMs = 3_000

/** A call that needs approval. An answered one shows its outcome instead of buttons. */
export function Approval({ approval }: { approval: Asked }) {
  const toasts = useToasts()
  const [isBusy, setIsBusy] = useState(false)
  const [isOver, setIsOver] = useState(false)
  const { id, shown, outcome } = approval
  const isOpen = outcome === undefined && !isOver
  // An answer in words, or from another device, ends the question as well.
  const { data: waiting } = useAnswer('approvals.list', isOpen ? {} : null, isOpen ? { everyMs: pollMs } : {})
  const asked = waiting?.approvals.find((one) => one.id === id)
  useEffect(() => {
    if (waiting?.approvals.every((one) => one.id !== id)) setIsOver(true)
  }, [waiting, id])

  async function give(scope: ApprovalScope | null): Promise<void> {
    setIsBusy(true)
    try {
      await call('approvals.answer', scope ? { id, answer: 'approve', scope } : { id, answer: 'deny' })
      // The buttons disappear, and the focus with them.
      focusComposer()
    } catch (error) {
      toasts.failed(error)
    } finally {
      setIsBusy(false)
    }
  }

  if (!isOpen) {
    return (
      <section aria-label={t.chat.approval} className="flex items-start gap-2 text-sm text-soft">
        <span className="mt-0.5">
          <Icon name={outcome === undefined ? 'minus' : outcome.answer === 'approve' ? 'check' : 'close'} size={16} />
        </span>
        <div className="min-w-0">
          <Sentence approval={approval} />
          {outcome === undefined && <p>{t.chat.alreadyAnsweredExpired}</p>}
          <Details details={shown?.details} />
        </div>
      </section>
    )
  }
  const scopes = asked?.scopes ?? shown?.scopes ?? ['once']
  const labels: Record<ApprovalScope, string> = {
    once: t.chat.allowOnce,
    conversation: t.chat.allowInConversation,
    always: t.chat.alwaysAllow(shown?.covers ?? ''),
  }
  return (
    <section aria-label={t.chat.approvalNeeded} className="rounded-xl border border-warn bg-warn-soft p-4">
      <Sentence approval={approval} />
      {shown && (
        <p className="mt-1 text-sm text-soft" dir="auto" lang={shown.language}>
          {shown.reason}
        </p>
      )}
      <Details details={asked?.details ?? shown?.details} />
      <div className="mt-3 flex flex-col gap-2 sm:flex-row sm:flex-wrap">
        {scopes.map((scope) => (
          <Button
            key={scope}
            kind={scope === 'once' ? 'main' : 'plain'}
            className="min-w-0 break-words"
            isBusy={isBusy}
            onClick={() => void give(scope)}
          >
            {labels[scope]}
          </Button>
        ))}
        <Button isBusy={isBusy} onClick={() => void give(null)}>
          {t.chat.deny}
        </Button>
      </div>
    </section>
  )
}

/** With the tool and the place in bold. A question of an earlier version is one text. */
function Sentence({ approval: { shown, question } }: { approval: Asked }) {
  if (!shown)
    return (
      <p dir="auto" className="whitespace-pre-wrap break-words">
        {question}
      </p>
    )
  const { sentence, place, tool, language } = shown
  const at = place === null ? sentence.length : sentence.lastIndexOf(place)
  const start = sentence.indexOf(tool)
  const end = start + tool.length
  if (start < 0 || end > at) {
    return (
      <p className="break-words" dir="auto" lang={language}>
        {sentence}
      </p>
    )
  }
  return (
    <p className="break-words" dir="auto" lang={language}>
      {sentence.slice(0, start)}
      <strong>{tool}</strong>
      {sentence.slice(end, at)}
      <strong>{place}</strong>
      {sentence.slice(at + (place?.length ?? 0))}
    </p>
  )
}

function Details({ details = [] }: { details?: readonly { name: string; value: string }[] | undefined }) {
  if (details.length === 0) return null
  return (
    <details className="mt-1 text-sm">
      <summary className="min-h-7 cursor-pointer py-1 text-soft">{t.chat.details}</summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard. */}
      <section tabIndex={0} aria-label={t.chat.details} className="max-h-60 overflow-auto">
        <table className="w-full text-start">
          <tbody>
            {details.map(({ name, value }) => (
              <tr key={name} className="align-top">
                <th scope="row" className="whitespace-nowrap py-0.5 pe-4 text-start font-medium text-soft">
                  {name}
                </th>
                <td className="w-full whitespace-pre-wrap py-0.5 font-mono text-xs leading-5 [overflow-wrap:anywhere]">
                  {value.replaceAll('\\u000a', '\n')}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </details>
  )
}
