import { useEffect, useRef } from 'react'
import type { FoundReply } from '../../../src/protocol/search.ts'
import { useAnswer } from '../api/call.ts'
import { insertIntoComposer } from '../chat/composer.tsx'
import { highlightWords } from '../chat/find.tsx'
import { Button } from '../components/controls.tsx'
import { Failure } from '../components/feedback.tsx'
import { Dialog } from '../components/forms.tsx'
import { Icon } from '../components/icon.tsx'
import { go } from '../shell/router.tsx'
import { t } from '../strings/strings.ts'

/** The text of a file that was found, at the first of the words. */
export function FoundFile({ file, onClose }: { file: FoundReply; onClose(): void }) {
  const { data, error } = useAnswer('search.file', { id: file.id })
  const text = useRef<HTMLPreElement>(null)

  useEffect(() => {
    if (!data) return
    const first = highlightWords(text.current, file.words)
    first?.startContainer.parentElement?.scrollIntoView()
    const box = text.current
    if (first && box) box.scrollTop += first.getBoundingClientRect().top - box.getBoundingClientRect().top - 80
    return () => void highlightWords(null, [])
  }, [data, file.words])

  function mention(): void {
    onClose()
    if (!/^\/(?:talk\/|$)/.test(location.pathname)) go('/')
    // The message field is drawn first.
    requestAnimationFrame(() => insertIntoComposer(`${file.reference} `))
  }

  return (
    <Dialog isOpen onClose={onClose} title={file.title}>
      {error && <Failure error={error} />}
      {!data && !error && <p className="breathing text-soft">{t.common.loading}</p>}
      {data && (
        <pre
          ref={text}
          // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard.
          tabIndex={0}
          dir="auto"
          className="max-h-[55vh] overflow-auto whitespace-pre-wrap rounded-lg bg-sunken p-3 font-mono text-[0.8125rem]"
        >
          {data.text}
        </pre>
      )}
      {data?.is_cut && <p className="mt-2 text-sm text-soft">{t.find.fileCut}</p>}
      <Button className="mt-3" onClick={mention}>
        <Icon name="talk" size={16} /> {t.find.insertMention}
      </Button>
    </Dialog>
  )
}
