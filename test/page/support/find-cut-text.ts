import type { Page } from 'playwright-core'

/**
 * Text that a reader cannot see all of: it leaves the window, its box, or a box that hides what is outside. Text that ends in `…` on
 * purpose and boxes that scroll are no faults.
 */
const script = `(() => {
  const found = new Set()
  const name = (text, element, why) => found.add(why + ': “' + text.trim().slice(0, 60) + '” in ' + element.tagName.toLowerCase() + '.' + String(element.className).slice(0, 80))
  const isForEars = (element) => element && (getComputedStyle(element).clipPath === 'inset(50%)' || isForEars(element.parentElement))
  const isRead = (element) => !isForEars(element) && !element.closest('[aria-hidden="true"], script, style, option, svg, .katex') && element.checkVisibility({ visibilityProperty: true, opacityProperty: true })
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement
    if (!node.data.trim() || !element || !isRead(element)) continue
    const range = document.createRange()
    range.selectNodeContents(node)
    const boxes = [...range.getClientRects()].filter(({ width }) => width > 0)
    if (boxes.length === 0) continue
    const left = Math.min(...boxes.map((box) => box.left))
    const right = Math.max(...boxes.map((box) => box.right))
    const bottom = Math.max(...boxes.map((box) => box.bottom))
    let scrolls = false
    for (let box = element; box && box !== document.documentElement; box = box.parentElement) {
      const style = getComputedStyle(box)
      if (style.display === 'contents' || (style.display === 'inline' && style.overflowX === 'visible')) continue
      if (/auto|scroll/.test(style.overflowX) || /auto|scroll/.test(style.overflowY)) {
        // Such a box is meant to scroll up and down only.
        if (box.matches('.overflow-y-auto') && right > box.getBoundingClientRect().right + 1.5) name(node.data, box, 'outside of what scrolls')
        scrolls = true
        break
      }
      const isEllipsis = style.textOverflow === 'ellipsis' || style.webkitLineClamp !== 'none'
      const outer = box.getBoundingClientRect()
      const leaves = left < outer.left - 1.5 || right > outer.right + 1.5
      const hides = style.overflowX !== 'visible'
      if (hides && isEllipsis) { scrolls = true; break }
      if (hides && (leaves || bottom > outer.bottom + 4)) name(node.data, box, 'cut')
      else if (leaves && box === element) name(node.data, box, 'outside of its box')
      if (hides) break
      if (style.position === 'fixed') break
    }
    if (!scrolls && (left < -1 || right > innerWidth + 1)) name(node.data, element, 'outside of the window')
  }
  const buttons = [...document.querySelectorAll('button, a, [role="tab"], [role="menuitem"], label, th, td, h1, h2, h3')]
  for (const box of buttons.filter(isRead)) {
    const style = getComputedStyle(box)
    if (style.display === 'inline' || style.overflowX !== 'visible' || box.clientWidth === 0 || box.querySelector('.truncate')) continue
    if (box.scrollWidth > box.clientWidth + 1) name(box.textContent, box, 'wider than its box')
  }
  const root = document.documentElement
  if (root.scrollWidth > root.clientWidth || root.scrollHeight > root.clientHeight) found.add('the document scrolls')
  return [...found]
})()`

export async function findCutText(page: Page): Promise<string[]> {
  return (await page.evaluate(script)) as string[]
}
