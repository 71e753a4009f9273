/** Anything that survives JSON.stringify and JSON.parse unchanged. */
export type Json = string | number | boolean | null | Json[] | { [key: string]: Json }
