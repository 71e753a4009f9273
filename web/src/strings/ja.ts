import type { Catalog } from './locale.ts'

export const ja: Catalog = {}
