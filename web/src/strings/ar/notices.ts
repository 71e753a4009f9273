import { formatNumber } from '../format.ts'

const headline = {
  approval: 'يلزم الإذن',
  question: 'لدى Familiar سؤال',
  build_ready: 'أداة جديدة جاهزة',
  build_failed: 'فشل الإنشاء',
  repair_ready: 'أُصلحت الأداة',
  repair_failed: 'فشل الإصلاح',
  schedule: 'انتهت مهمة مجدولة',
  reply: 'رد جديد',
  reply_failed: 'فشل الرد',
}

const toasts: Partial<Record<keyof typeof headline, (name: string) => string>> = {
  build_ready: (name) => `«${name}» جاهزة للاستخدام`,
  repair_ready: (name) => `أُصلحت «${name}»`,
  build_failed: (name) => `فشل إنشاء «${name}». افتح سجل الإنشاء للتفاصيل.`,
  repair_failed: (name) => `فشل إصلاح «${name}». افتح سجل الإنشاء للتفاصيل.`,
}

export const offlineStrings = {
  notRunning: 'Familiar لا يعمل',
  startIt: 'شغّله من الطرفية على جهازه، أو تحقّق من شبكة هذا الجهاز:',
  opensByItself: 'تُفتح هذه الصفحة تلقائيًا حالما يستجيب Familiar.',
  waitingMessages: 'رسائل ستُرسل عندئذ',
  onlyFiles: 'ملفات دون نص',
  cannotReach: 'يتعذّر الوصول إلى Familiar. تُحفظ الرسائل هنا وتُرسل عند عودته.',
  waitingForConnection: 'في انتظار الاتصال',
  notSent: (reason: string) => `لم تُرسل: ${reason}`,
  alreadySent: 'سبق إرسال الرسالة.',
}

export const noticeStrings = {
  title: 'الإشعارات',
  unread: (count: number) => `الإشعارات (غير المقروءة: ${formatNumber(count)})`,
  headline,
  toast: (kind: keyof typeof headline, name: string) => toasts[kind]?.(name) ?? `${headline[kind] ?? kind}: ${name}`,
  show: 'عرض',
  none: 'لا جديد',
  noneHint: 'تظهر هنا الأذونات المطلوبة والأسئلة وعمليات الإنشاء المنتهية والمهام المجدولة والردود غير المقروءة.',
  turnOn: 'تفعيل الإشعارات',
  markAllRead: 'تعليم الكل كمقروء',
  settings: 'إعدادات الإشعارات',
  systemNotifications: 'الإشعارات على هذا الجهاز',
  stateHint: {
    absent: 'لا يعرض هذا المتصفح إشعارات هنا. يلزم HTTPS، أو فتح الصفحة على الجهاز الذي يشغّل Familiar.',
    blocked: 'يحظر هذا المتصفح إشعارات Familiar. اسمح بها في إعدادات الموقع.',
    off: 'تظهر عندما يكون Familiar في الخلفية.',
    on: 'تظهر عندما يكون Familiar في الخلفية.',
  },
  announceThese: 'إشعاري بما يلي',
  groups: {
    approvals: 'الأذونات المطلوبة',
    questions: 'الأسئلة',
    builds: 'عمليات الإنشاء المنتهية',
    schedules: 'المهام المجدولة',
    replies: 'الردود',
  },
  bellShowsAll: 'تعرض قائمة الجرس كل الإشعارات.',
}
