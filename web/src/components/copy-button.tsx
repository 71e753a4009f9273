import { useState } from 'react'
import { Icon } from './icon.tsx'

export function CopyButton({ text, label = 'Copy' }: { text: string; label?: string }) {
  const [isCopied, setIsCopied] = useState(false)
  async function copy(): Promise<void> {
    await navigator.clipboard.writeText(text)
    setIsCopied(true)
    setTimeout(() => setIsCopied(false), 1_500)
  }
  return (
    <button
      type="button"
      onClick={() => void copy()}
      className="inline-flex min-h-7 items-center gap-1 rounded px-1.5 text-xs text-soft hover:text-ink"
    >
      <Icon name={isCopied ? 'check' : 'copy'} size={14} />
      {isCopied ? 'Copied' : label}
    </button>
  )
}
