import { z } from 'zod'
import { cleanForeignText, foreignLine } from '../foreign-text.ts'

const nodeSchema = z.object({
  role: z.string(),
  name: z.string().optional(),
  text: z.string().optional(),
  ref: z.string().optional(),
  url: z.string().optional(),
  level: z.number().optional(),
  cursor: z.string().optional(),
  checked: z.union([z.boolean(), z.string()]).optional(),
  selected: z.boolean().optional(),
  disabled: z.boolean().optional(),
  expanded: z.boolean().optional(),
  children: z.array(z.unknown()).optional(),
})
type Node = z.infer<typeof nodeSchema>

/** What can be clicked or typed into, and so is worth a reference. */
const controls = new Set(
  (
    'link button textbox searchbox combobox listbox checkbox radio switch slider spinbutton option tab treeitem ' +
    'menuitem menuitemcheckbox menuitemradio'
  ).split(' '),
)
/** What stands in the middle of a line. */
const inWords = new Set(
  'strong emphasis code superscript subscript mark time text cell gridcell columnheader rowheader'.split(' '),
)
const deepest = 300
const longestName = 120

/**
 * What a page shows, line by line: its words, and what can be used as `[e5] button "Search"`. Of `tree`, what Playwright
 * makes of the page for a reader; what does not have its form is left out. Fields that hold one of `passwords` show none.
 */
export function listPage(tree: unknown, address: string, passwords: readonly string[] = []): string {
  const lines: string[] = []
  let line: string[] = []

  function endLine(prefix = ''): void {
    const words = line.join(' ').replaceAll(/\s+/g, ' ').trim()
    if (words !== '') lines.push(`${prefix}${words}`)
    line = []
  }

  function walk(value: unknown, depth: number): void {
    if (typeof value === 'string') {
      line.push(value)
      return
    }
    const parsed = nodeSchema.safeParse(value)
    if (!parsed.success || depth > deepest) return
    const node = parsed.data
    if (isControl(node)) line.push(describeControl(withoutPassword(node, passwords), address))
    else if (node.role === 'img') line.push(node.name ? `[image: ${foreignLine(node.name, longestName)}]` : '')
    else if (inWords.has(node.role)) walkInside(node, depth)
    else walkBlock(node, depth)
  }

  function walkBlock(node: Node, depth: number): void {
    endLine()
    if (node.role === 'heading' && !node.children) line.push(node.name ?? '')
    else walkInside(node, depth)
    endLine(prefixOf(node))
  }

  function walkInside(node: Node, depth: number): void {
    const children = node.children ?? []
    // A cell or paragraph without parts has its words as its text or its name.
    if (children.length === 0) line.push(node.text ?? node.name ?? '')
    for (const child of children) {
      walk(child, depth + 1)
      if (node.role === 'row') line.push('|')
    }
  }

  for (const node of Array.isArray(tree) ? tree : [tree]) walk(node, 0)
  endLine()
  return cleanForeignText(lines.join('\n'))
}

function isControl(node: Node): boolean {
  if (node.ref === undefined) return false
  // What a script has made clickable: its cursor is all that tells.
  return controls.has(node.role) || (node.cursor === 'pointer' && !node.children)
}

function withoutPassword(node: Node, passwords: readonly string[]): Node {
  return node.text && passwords.includes(node.text) ? { ...node, text: '•••' } : node
}

function describeControl(node: Node, address: string): string {
  const name = foreignLine(node.name ?? (node.role === 'textbox' ? '' : (node.text ?? '')), longestName)
  const states = [
    node.role === 'generic' ? 'clickable' : node.role,
    name === '' ? '' : JSON.stringify(name),
    node.checked === true ? '(checked)' : '',
    node.selected ? '(selected)' : '',
    node.disabled ? '(disabled)' : '',
    node.expanded === undefined ? '' : node.expanded ? '(open)' : '(closed)',
    node.role.endsWith('box') && node.text ? `= ${JSON.stringify(foreignLine(node.text, longestName))}` : '',
    node.role === 'combobox' || node.role === 'listbox' ? describeOptions(node) : '',
    node.url === undefined ? '' : describeTarget(node.url, address),
  ]
  return `[${node.ref}] ${states.filter((state) => state !== '').join(' ')}`
}

const mostOptions = 20

function describeOptions({ children = [] }: Node): string {
  const options = children.flatMap((child) => {
    const option = nodeSchema.safeParse(child)
    if (!option.success || option.data.role !== 'option') return []
    const name = foreignLine(option.data.name ?? '', 40)
    return [option.data.selected ? `*${name}*` : name]
  })
  if (options.length === 0) return ''
  const rest = options.length > mostOptions ? `, … ${options.length - mostOptions} more` : ''
  return `{${options.slice(0, mostOptions).join(', ')}${rest}}`
}

/** A way off the site shows its host; one on the site only its path. */
function describeTarget(target: string, address: string): string {
  if (!URL.canParse(target, address)) return ''
  const url = new URL(target, address)
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return ''
  const isHere = url.origin === originOf(address)
  return `→ ${foreignLine(isHere ? `${url.pathname}${url.search}` : url.href, longestName)}`
}

function originOf(address: string): string | undefined {
  return URL.canParse(address) ? new URL(address).origin : undefined
}

function prefixOf({ role, level = 1 }: Node): string {
  if (role === 'heading') return `${'#'.repeat(Math.min(6, Math.max(1, level)))} `
  return role === 'listitem' ? '- ' : role === 'row' ? '| ' : ''
}
