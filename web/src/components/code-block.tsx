import { CopyButton } from './copy-button.tsx'

export function CodeBlock({ code, language }: { code: string; language?: string | undefined }) {
  return (
    <div className="overflow-hidden rounded-xl border border-line bg-sunken">
      <div className="flex items-center justify-between border-b border-line px-3 py-0.5 text-xs text-soft">
        <span>{language || 'text'}</span>
        <CopyButton text={code} />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard. */}
      <pre tabIndex={0} className="overflow-x-auto p-3 font-mono text-[0.8125rem] leading-relaxed">
        <code>{code}</code>
      </pre>
    </div>
  )
}
