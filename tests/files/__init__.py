"""Files as a hostile or an unlucky user has them: full disks, strange names, damaged content."""
