import { CopyButton } from '../components/copy-button.tsx'

/** Text that something gave out, as it is. */
export function OutputText({ title, text }: { title: string; text: string }) {
  return (
    <div className="overflow-hidden rounded-xl border border-line bg-sunken">
      <div className="flex items-center justify-between border-b border-line px-3 py-0.5 text-xs text-soft">
        <span>{title}</span>
        <CopyButton text={text} />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard. */}
      <pre tabIndex={0} className="max-h-96 overflow-auto whitespace-pre-wrap p-3 font-mono text-xs leading-relaxed">
        {text}
      </pre>
    </div>
  )
}
