import type { ReactNode } from 'react'
import { Link } from '../shell/link.tsx'

export function QuietLink({ href, children }: { href: string; children: ReactNode }) {
  return (
    <Link href={href} className="underline decoration-line underline-offset-4 hover:decoration-accent">
      {children}
    </Link>
  )
}
